/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker that was taken over could still do: nothing but compute and talk to us. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/own.h"
#include "worker/sanitizer.h"
#include "wire/proto.h"
#include "worker/opening.h"
#include "worker/sandbox.h"
#include "worker/users.h"
#include "worker_client.h"

#define EXIT_NO_SANDBOX 99

/* Memory, as it comes with a request. */
static int given;

/* The wait status of a child that shuts itself in and does this. */
static int inside(int (*act)(void))
{
	pid_t pid = fork();
	uint32_t report;
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		given = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		for (int number = 1; number < 32; number++)
			signal(number, SIG_DFL);
		_exit(sandbox_enter(&report) < 0 ? EXIT_NO_SANDBOX : act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int do_open(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static int do_openat2(void)
{
	return (int)syscall(SYS_openat2, AT_FDCWD, ".", NULL, 0);
}

static int do_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int do_execve(void)
{
	return execl("/proc/self/exe", "x", NULL);
}

static int do_execveat(void)
{
	return (int)syscall(SYS_execveat, 0, "", NULL, NULL, AT_EMPTY_PATH);
}

static int do_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int do_fork(void)
{
	return fork();
}

static int do_kill(void)
{
	return kill(getppid(), 0);
}

static int do_tgkill(void)
{
	return (int)syscall(SYS_tgkill, 1, 1, 0);
}

static int do_kill_itself(void)
{
	return (int)syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

static int do_exec_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0) == MAP_FAILED;
}

static int do_shared_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
		MAP_FAILED;
}

static int do_exec_protect(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int do_pkey_protect(void)
{
	return (int)syscall(SYS_pkey_mprotect, NULL, 0, PROT_EXEC, -1);
}

static int do_bpf(void)
{
	union bpf_attr attr = { 0 };

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int do_perf(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int do_io_uring(void)
{
	return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int do_stat(void)
{
	struct stat st;

	return stat("/etc/passwd", &st);
}

static int do_seals(void)
{
	return fcntl(given, F_ADD_SEALS, F_SEAL_WRITE);
}

static int do_memfd(void)
{
	return (int)syscall(SYS_memfd_create, "x", MFD_CLOEXEC);
}

static int do_vm_read(void)
{
	return (int)syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0);
}

static int do_prctl(void)
{
	return (int)syscall(SYS_prctl, 0, 0, 0, 0, 0);
}

static int do_mount(void)
{
	return (int)syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL);
}

static int do_ioctl(void)
{
	return (int)syscall(SYS_ioctl, 0, 0x5412, "x");
}

static void each_way_out_kills(void **state)
{
	static const struct {
		const char *name;
		int (*act)(void);
	} rows[] = {
		{ "open", do_open },
		{ "openat2", do_openat2 },
		{ "socket", do_socket },
		{ "execve", do_execve },
		{ "execveat", do_execveat },
		{ "ptrace", do_ptrace },
		{ "fork", do_fork },
		{ "kill", do_kill },
		{ "tgkill of another", do_tgkill },
		{ "SIGKILL to itself", do_kill_itself },
		{ "executable memory", do_exec_memory },
		{ "memory made executable", do_exec_protect },
		{ "memory made executable with a key", do_pkey_protect },
		{ "bpf", do_bpf },
		{ "perf_event_open", do_perf },
		{ "io_uring", do_io_uring },
		{ "stat of a path", do_stat },
		{ "seals", do_seals },
		{ "memory of its own to hand over", do_memfd },
		{ "shared memory", do_shared_memory },
		{ "memory of a process", do_vm_read },
		{ "prctl", do_prctl },
		{ "mount", do_mount },
		{ "ioctl", do_ioctl },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int status = inside(rows[i].act);

		print_message("%s: %#x\n", rows[i].name, (unsigned int)status);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

/* What the parsers need, far beyond what they do. */
static int do_work(void)
{
	struct timespec ts;
	char *bytes = malloc(64UL << 20);
	struct stat st;

	if (!bytes)
		return 1;
	memset(bytes, 1, 64UL << 20);
	bytes = realloc(bytes, 128UL << 20);
	if (!bytes || write(given, bytes, 4096) != 4096 || fstat(given, &st) < 0 ||
		st.st_size != 4096)
		return 2;
	free(bytes);
	if (pread(given, &ts, sizeof(ts), 0) != sizeof(ts))
		return 3;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) < 0)
		return 4;
	return close(given);
}

static void the_work_itself_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(inside(do_work), 0);
}

static int do_abort(void)
{
	abort();
}

static void an_abort_is_seen_as_one(void **state)
{
	int status = inside(do_abort);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static int do_grow(void)
{
	for (size_t size = 0; size <= SANDBOX_DATA_BYTES_MAX; size += 64UL << 20) {
		char *volatile memory = malloc(64UL << 20);

		if (!memory)
			return 0;
	}
	return 1;
}

static void memory_has_an_end_that_is_no_death(void **state)
{
	(void)state;
#ifdef WITH_ASAN
	skip();
#endif
	assert_int_equal(inside(do_grow), 0);
}

static int do_write_much(void)
{
	if (lseek(given, (off_t)SANDBOX_FILE_BYTES_MAX, SEEK_SET) < 0)
		return 1;
	return (int)write(given, "x", 1);
}

static void a_memfd_has_an_end(void **state)
{
	int status = inside(do_write_much);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

/* ---- an opener ------------------------------------------------------------------------------ */

#define CREATES (O_WRONLY | O_CREAT | O_EXCL)
#define MAKES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* %d: our pid. */
static const struct opener_row {
	const char *path;
	int flags;
	int err; /* 0: it is opened */
} opener_rows[] = {
	{ "/proc/%d/root/etc/passwd", O_RDONLY, 0 },
	{ "/proc/%d/environ", O_RDONLY, 0 },
	{ "/proc/%d/mem", O_RDONLY, 0 },
	{ "/proc/self/status", O_RDONLY, 0 },
	{ "/etc/passwd", O_RDONLY, -ENOENT },
	/* of its own mounts */
	{ "/made-by-an-opener", CREATES, -EROFS },
	{ "/proc/self/timerslack_ns", O_WRONLY, -EROFS }, /* which everybody may write */
	{ "/proc/self/mem", O_RDWR, -EACCES },
	{ "/proc/1/mem", O_WRONLY, -EACCES },
	{ "/proc/%d/mem", O_RDWR, -EACCES },
	{ "/proc/sys/kernel/core_pattern", O_WRONLY, -EACCES },
	/* of those of others */
	{ "/proc/%d/root/etc/passwd", O_RDWR, -EACCES },
	{ "/proc/%d/root/made-by-an-opener", CREATES, -EACCES },
	{ "/proc/%d/root/root", O_RDWR | O_TMPFILE, -EACCES },
	{ "/proc/%d/root/proc/1/mem", O_WRONLY, -EACCES },
	{ "/proc/%d/root/proc/%d/mem", O_RDWR, -EACCES },
	{ "/proc/%d/root/proc/sys/kernel/core_pattern", O_WRONLY, -EACCES },
};

/* In an opener that was taken over. What it got for each row goes to the file. */
static int try_rows(pid_t us, int file)
{
	uint32_t report = 0;

	if (sandbox_enter_opener(OPENING_CAPS, &report) < 0 ||
		write(file, &report, sizeof(report)) != sizeof(report))
		return EXIT_NO_SANDBOX;
	for (size_t i = 0; i < ARRAY_SIZE(opener_rows); i++) {
		struct open_how how = { .flags = (uint64_t)opener_rows[i].flags,
			.mode = opener_rows[i].flags & MAKES ? 0600 : 0 };
		char path[64];
		int got;

		snprintf(path, sizeof(path), opener_rows[i].path, us, us);
		got = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
		got = got < 0 ? -errno : 0;
		if (write(file, &got, sizeof(got)) != sizeof(got))
			return 1;
	}
	return 0;
}

/* Its flags of openat2 are in memory, where no filter sees them. */
static void an_opener_reads_all_and_opens_nothing_for_writing(void **state)
{
	_cleanup_fd_ int file = memfd_create("rows", MFD_CLOEXEC);
	uint32_t report = 0;
	pid_t us = getpid(), pid;
	int status, got = 1, wrong = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(try_rows(us, file));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(read(file, &report, sizeof(report)), sizeof(report));
	print_message("sandbox %#x\n", report);
	/* A container may lack the rights for it. */
	if (~caps_permitted() &
		(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_KILL)))
		skip();
	assert_int_equal(report & (SANDBOX_PROC | SANDBOX_USER), SANDBOX_PROC | SANDBOX_USER);
	for (size_t i = 0; i < ARRAY_SIZE(opener_rows); i++) {
		const struct opener_row *row = &opener_rows[i];

		assert_int_equal(read(file, &got, sizeof(got)), sizeof(got));
		if (got != row->err)
			print_message("%s, %#x: %d\n", row->path, row->flags, got);
		wrong += got != row->err;
	}
	assert_int_equal(wrong, 0);
}

/* ---- as seen from outside ------------------------------------------------------------------- */

static unsigned long long status_field(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, base);
}

static int count_fds(pid_t pid)
{
	char path[64];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void read_proc(pid_t pid, const char *file, struct buf *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	assert_int_equal(fd_read_path(path, 1 << 20, out), 0);
}

static void a_worker_has_nothing(void **state)
{
	struct worker_stats stats;
	struct told told;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	stats = told_stats(&told);
	print_message("sandbox %#x\n", stats.sandbox);
	for (int i = 0; i < WORKER_LANES_STANDING; i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		_cleanup_(buf_done) struct buf limits = BUF_INIT;
		int fds = count_fds(stats.pids[i]);

		read_proc(stats.pids[i], "status", &text);
		assert_int_equal(status_field(text.data, "\nCapEff:", 16), 0);
		assert_int_equal(status_field(text.data, "\nCapPrm:", 16), 0);
		assert_int_equal(status_field(text.data, "\nCapInh:", 16), 0);
		assert_int_equal(status_field(text.data, "\nNoNewPrivs:", 10), 1);
		assert_int_equal(status_field(text.data, "\nSeccomp:", 10), 2);
		/* Standard input, output and error, which lead nowhere, and the socket. */
		assert_true(fds == 4 || fds == -EACCES || fds == -EPERM);
		if (stats.sandbox & SANDBOX_USER) {
			uid_t uid = users_choose(USERS_WORKER);

			assert_int_equal(status_field(text.data, "\nUid:", 10), uid);
			assert_int_equal(status_field(text.data, "\nGid:", 10), uid);
			assert_int_equal(status_field(text.data, "\nCapBnd:", 16), 0);
		}
		read_proc(stats.pids[i], "limits", &limits);
		assert_int_equal(status_field(limits.data, "Max core file size", 10), 0);
	}
	told_close(&told);
}

static void what_is_reported_is_so(void **state)
{
	struct worker_stats stats;
	struct told told;
	char path[64];
	DIR *root;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	stats = told_stats(&told);
	snprintf(path, sizeof(path), "/proc/%d/root", stats.pids[0]);
	root = opendir(path);
	if (root && (stats.sandbox & SANDBOX_NAMESPACES)) {
		struct dirent *entry;
		int entries = 0;

		while ((entry = readdir(root)))
			entries += entry->d_name[0] != '.';
		assert_int_equal(entries, 0);
	}
	if (root)
		closedir(root);
	/* A file's descriptor is no way to others: nothing is said of what lies beside it. */
	assert_true(stats.sandbox & (SANDBOX_NAMESPACES | SANDBOX_CHROOT | SANDBOX_LANDLOCK));
	told_close(&told);
}

/* ---- what is said to a worker --------------------------------------------------------------- */

static int exit_after(const void *bytes, size_t size)
{
	static struct proto_message m;
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pair[0]);
		_exit(worker_main(pair[1]));
	}
	close(pair[1]);
	assert_int_equal(proto_receive(pair[0], 0, &m), 0);
	assert_int_equal(m.head.kind, PROTO_HELLO);
	if (size > 0)
		assert_int_equal(send(pair[0], bytes, size, MSG_NOSIGNAL), size);
	else
		shutdown(pair[0], SHUT_WR);
	assert_int_equal(proto_receive(pair[0], 0, &m), -ECONNRESET);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pair[0]);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_worker_ends_over_what_no_client_says(void **state)
{
	static const struct proto_request rows[] = {
		{ .head = { PROTO_ROWS, 1, sizeof(rows[0]), 0 } }, /* no descriptor */
		{ .head = { PROTO_HELLO, 1, sizeof(rows[0]), 0 } },
		{ .head = { PROTO_KINDS, 1, sizeof(rows[0]), 0 } },
		{ .head = { UINT32_MAX, 1, sizeof(rows[0]), 0 } },
		{ .head = { PROTO_NAMES, 1, sizeof(rows[0]) + 8, 0 } },
		{ .head = { PROTO_NAMES, 1, sizeof(rows[0]), 0 }, .queries_len = 1 },
		{ .head = { PROTO_NAMES, 1, sizeof(rows[0]), 0 }, .queries_len = UINT32_MAX },
		{ .head = { PROTO_NAMES, 1, sizeof(rows[0]), 0 }, .flags = 0x80 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("row %zu\n", i);
		assert_int_equal(exit_after(&rows[i], sizeof(rows[i])), WORKER_EXIT_PROTOCOL);
	}
	assert_int_equal(exit_after("x", 1), WORKER_EXIT_PROTOCOL);
	assert_int_equal(exit_after("", 0), WORKER_EXIT_END);
}

static void a_worker_that_nobody_started_says_so(void **state)
{
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(worker_main(pipes[0]), WORKER_EXIT_SOCKET);
	assert_int_equal(worker_main(-1), WORKER_EXIT_SOCKET);
	close(pipes[0]);
	close(pipes[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_out_kills),
		cmocka_unit_test(the_work_itself_is_allowed),
		cmocka_unit_test(an_abort_is_seen_as_one),
		cmocka_unit_test(memory_has_an_end_that_is_no_death),
		cmocka_unit_test(a_memfd_has_an_end),
		cmocka_unit_test(an_opener_reads_all_and_opens_nothing_for_writing),
		cmocka_unit_test(a_worker_has_nothing),
		cmocka_unit_test(what_is_reported_is_so),
		cmocka_unit_test(a_worker_ends_over_what_no_client_says),
		cmocka_unit_test(a_worker_that_nobody_started_says_so),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
