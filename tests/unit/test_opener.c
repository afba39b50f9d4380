/* SPDX-License-Identifier: Apache-2.0 */
/* What may stand where a file of another process is looked for: each kind is refused for its own
 * reason, or is the file, and none makes us wait or leads out of the root. */
/* alone: it measures how long an open takes */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "bpf/reasons.h"
#include "proc/opener.h"
#include "proc/status.h"

#define WAIT_MAX_NS (100 * NSEC_PER_MSEC)
#define SWAP_NS (300 * NSEC_PER_MSEC)
#define MAP "perf-7.map"

struct place {
	char root[64]; /* a folder that stands for a container's root */
	int root_fd;
	int tmp_fd;
	struct opener_process self;
};

static void put_file(const struct place *p, const char *name, const char *text, off_t size)
{
	_cleanup_fd_ int fd =
		openat(p->root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	if (size > 0)
		assert_int_equal(ftruncate(fd, size), 0);
}

static uint64_t own_start_ns(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t ticks;

	assert_int_equal(fd_read_path("/proc/self/stat", 65536, &text), 0);
	assert_int_equal(status_parse_start(text.data, &ticks), 0);
	return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int setup(void **state)
{
	static struct place p;

	strcpy(p.root, "/var/tmp/stoker-opener-XXXXXX");
	assert_non_null(mkdtemp(p.root));
	p.root_fd = open(p.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(p.root_fd, "tmp", 0777), 0);
	assert_int_equal(mkdirat(p.root_fd, "etc", 0777), 0);
	p.tmp_fd = openat(p.root_fd, "tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	put_file(&p, "etc/shadow", "inside", 0);
	p.self = (struct opener_process){ .pid = getpid(), .start_ns = own_start_ns() };
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	fd_close(&p->root_fd);
	fd_close(&p->tmp_fd);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	return system(command);
}

/* ---- what stands there ----------------------------------------------------------------------- */

static void put_nothing(const struct place *p, const char *name)
{
	(void)p;
	(void)name;
}

static void put_plain(const struct place *p, const char *name)
{
	put_file(p, name, "10 10 f\n", 0);
}

static void put_fifo(const struct place *p, const char *name)
{
	assert_int_equal(mkfifoat(p->root_fd, name, 0666), 0);
}

static void put_device(const struct place *p, const char *name)
{
	if (mknodat(p->root_fd, name, S_IFCHR | 0666, 5 << 8) < 0) /* /dev/tty */
		skip();
}

static void put_socket(const struct place *p, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", p->root, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void put_directory(const struct place *p, const char *name)
{
	assert_int_equal(mkdirat(p->root_fd, name, 0777), 0);
}

static void put_link(const struct place *p, const char *name)
{
	assert_int_equal(symlinkat("/etc/shadow", p->root_fd, name), 0);
}

static void put_link_up(const struct place *p, const char *name)
{
	assert_int_equal(symlinkat("../../../../../../etc/shadow", p->root_fd, name), 0);
}

static void put_loop(const struct place *p, const char *name)
{
	assert_int_equal(symlinkat(strrchr(name, '/') + 1, p->root_fd, name), 0);
}

static void put_magic(const struct place *p, const char *name)
{
	assert_int_equal(symlinkat("/proc/self/root/etc/shadow", p->root_fd, name), 0);
}

static void put_sparse(const struct place *p, const char *name)
{
	put_file(p, name,
		"\x7f"
		"ELF",
		10LL << 30);
}

#define INSIDE 1000 /* opened, and it is the file in the root */

static const struct {
	const char *name;
	void (*put)(const struct place *p, const char *name);
	int map;   /* what becomes of it as a perf map: 0, -errno */
	int debug; /* and as a debug file */
} kinds[] = {
	{ "nothing", put_nothing, -ENOENT, -ENOENT },
	{ "a file", put_plain, 0, 0 },
	{ "a FIFO", put_fifo, -EINVAL, -EINVAL },
	{ "a device", put_device, -EINVAL, -EINVAL },
	{ "a socket", put_socket, -EINVAL, -EINVAL },
	{ "a directory", put_directory, -EINVAL, -EINVAL },
	{ "a link to /etc/shadow", put_link, -ELOOP, INSIDE },
	{ "a link upwards", put_link_up, -ELOOP, INSIDE },
	{ "a link to itself", put_loop, -ELOOP, -ELOOP },
	{ "a link through /proc", put_magic, -ELOOP, -ENOENT },
	{ "10 GB of nothing", put_sparse, -EFBIG, -EFBIG },
};

static void holds(const char *kind, int want, int got, int *fd, uint64_t began_ns)
{
	uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	char text[16] = "";

	if (got != (want == INSIDE ? 0 : want) || took_ns > WAIT_MAX_NS)
		fail_msg("%s: %d instead of %d, in %llu us", kind, got, want,
			(unsigned long long)took_ns / 1000);
	if (got == 0)
		assert_true(read(*fd, text, sizeof(text) - 1) > 0);
	if (want == INSIDE)
		assert_string_equal(text, "inside");
	fd_close(fd);
}

static void each_kind_has_its_answer_at_once_as_a_perf_map(void **state)
{
	const struct place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC);
		int fd = -1;

		kinds[i].put(p, "tmp/" MAP);
		holds(kinds[i].name, kinds[i].map,
			opener_perf_map(p->tmp_fd, &p->self, 7, geteuid(), &fd), &fd, began);
		if (unlinkat(p->root_fd, "tmp/" MAP, 0) < 0)
			unlinkat(p->root_fd, "tmp/" MAP, AT_REMOVEDIR);
	}
}

static void each_kind_has_its_answer_at_once_as_a_debug_file(void **state)
{
	const struct place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC);
		int fd = -1;

		kinds[i].put(p, "tmp/x.debug");
		holds(kinds[i].name, kinds[i].debug,
			opener_in_root(p->root_fd, "/tmp/x.debug", &fd), &fd, began);
		if (unlinkat(p->root_fd, "tmp/x.debug", 0) < 0)
			unlinkat(p->root_fd, "tmp/x.debug", AT_REMOVEDIR);
	}
}

static void a_path_upwards_stays_inside(void **state)
{
	const struct place *p = *state;
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	int fd = -1, err = opener_in_root(p->root_fd, "/../../../../etc/shadow", &fd);

	holds("a path upwards", INSIDE, err, &fd, began);
}

static void a_map_of_another_user_or_an_older_process_is_refused(void **state)
{
	const struct place *p = *state;
	struct opener_process later = p->self;
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	int fd = -1;

	put_plain(p, "tmp/" MAP);
	assert_int_equal(fchmodat(p->root_fd, "tmp/" MAP, 0644, 0), 0);
	assert_int_equal(opener_perf_map(p->tmp_fd, &later, 7, geteuid() + 1, &fd),
		geteuid() == 0 ? 0 : -EPERM); /* root may write for anyone */
	fd_close(&fd);
	assert_int_equal(fchmodat(p->root_fd, "tmp/" MAP, 0600, 0), 0);
	assert_int_equal(opener_perf_map(p->tmp_fd, &later, 7, geteuid() + 1, &fd),
		geteuid() == 0 ? -EACCES : -EPERM);
	assert_int_equal(opener_perf_map(p->tmp_fd, &later, 7, geteuid(), &fd), 0);
	fd_close(&fd);
	assert_int_equal(utimensat(p->root_fd, "tmp/" MAP, old, 0), 0);
	assert_int_equal(opener_perf_map(p->tmp_fd, &later, 7, geteuid(), &fd), -ESTALE);
	if (geteuid() == 0) {
		assert_int_equal(fchownat(p->root_fd, "tmp/" MAP, 12345, 0, 0), 0);
		assert_int_equal(opener_perf_map(p->tmp_fd, &later, 7, 54321, &fd), -EPERM);
	}
}

static void a_users_path_leads_to_no_file_that_it_may_not_read(void **state)
{
	static const struct {
		uid_t owner, uid;
		mode_t mode;
		int want;
	} rows[] = {
		{ 0, 1234, 0644, 0 },
		{ 0, 1234, 0640, -EACCES },
		{ 0, 0, 0600, -EACCES }, /* whoever linked it there may not be root */
		{ 1234, 1234, 0600, 0 },
		{ 1234, 0, 0644, -EACCES },
		{ 1234, 4321, 0644, -EACCES },
	};
	const struct place *p = *state;

	if (geteuid() != 0)
		skip();
	put_plain(p, "tmp/secret");
	assert_int_equal(symlinkat("secret", p->root_fd, "tmp/x.debug"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_fd_ int fd = -1;
		int err;

		assert_int_equal(fchownat(p->root_fd, "tmp/secret", rows[i].owner, 0, 0), 0);
		assert_int_equal(fchmodat(p->root_fd, "tmp/secret", rows[i].mode, 0), 0);
		err = opener_for_user(p->root_fd, "/tmp/x.debug", rows[i].uid, &fd);
		if (err != rows[i].want)
			fail_msg("row %zu: %d", i, err);
		fd_close(&fd);
		err = opener_itself(p->root_fd, "/tmp/x.debug", rows[i].uid, &fd);
		assert_int_equal(err, -ELOOP);
		assert_int_equal(
			opener_itself(p->root_fd, "/tmp/secret", rows[i].uid, &fd), rows[i].want);
	}
}

/* ---- what changes meanwhile -------------------------------------------------------------------
 */

struct swapper {
	const struct place *place;
	int stop;
};

/* A file and a FIFO change names, as fast as it goes. */
static void *swap(void *arg)
{
	struct swapper *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
		renameat2(s->place->root_fd, "tmp/" MAP, s->place->root_fd, "tmp/other",
			RENAME_EXCHANGE);
	return NULL;
}

static void a_file_swapped_for_a_fifo_in_between_is_one_or_the_other(void **state)
{
	struct swapper s = { .place = *state };
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + SWAP_NS;
	unsigned int opened = 0, refused = 0;
	pthread_t thread;

	put_plain(s.place, "tmp/" MAP);
	put_fifo(s.place, "tmp/other");
	assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
	while (clock_ns(CLOCK_MONOTONIC) < end || opened == 0 || refused == 0) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC);
		_cleanup_fd_ int fd = -1;
		int err = opener_perf_map(s.place->tmp_fd, &s.place->self, 7, geteuid(), &fd);
		struct stat st;

		assert_true(clock_ns(CLOCK_MONOTONIC) - began < 10 * WAIT_MAX_NS);
		if (err == 0) {
			assert_int_equal(fstat(fd, &st), 0);
			assert_true(S_ISREG(st.st_mode));
		} else {
			assert_int_equal(err, -EINVAL);
		}
		opened += err == 0;
		refused += err < 0;
		if (clock_ns(CLOCK_MONOTONIC) > end + 100 * SWAP_NS)
			break;
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	print_message("%u opened, %u refused\n", opened, refused);
	assert_true(opened > 0 && refused > 0);
}

static void a_pid_that_is_another_process_by_now_is_seen(void **state)
{
	const struct place *p = *state;
	struct opener_process other = p->self;
	int fd = -1;

	assert_int_equal(opener_root(&p->self, &fd), 0);
	fd_close(&fd);
	assert_int_equal(opener_dir(&p->self, "tmp", &fd), 0);
	fd_close(&fd);
	other.start_ns -= NSEC_PER_SEC;
	assert_int_equal(opener_root(&other, &fd), -ESRCH);
	assert_int_equal(opener_dir(&other, "tmp", &fd), -ESRCH);
	assert_int_equal(fd, -1);
}

static void *sleep_on(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

/* A child whose main thread has ended, and whose other one sleeps. */
static pid_t start_without_main(void)
{
	pthread_t thread;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (pthread_create(&thread, NULL, sleep_on, NULL) == 0)
			pthread_exit(NULL);
		_exit(1);
	}
	return pid;
}

static void read_stat(pid_t pid, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	assert_int_equal(fd_read_path(path, 65536, text), 0);
}

static void a_process_without_its_main_thread_is_that_of_another(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT, maps = BUF_INIT;
	struct opener_mapping m = { .process = { .pid = start_without_main() } };
	uint64_t ticks;
	struct stat st;
	char path[256];
	int fd = -1;

	(void)state;
	do {
		buf_done(&text);
		text = (struct buf)BUF_INIT;
		read_stat(m.process.pid, &text);
	} while (!status_has_ended(text.data));
	assert_int_equal(status_parse_start(text.data, &ticks), 0);
	m.process.start_ns = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	/* It was forked, so its mappings are ours. */
	assert_int_equal(fd_read_path("/proc/self/maps", 1 << 20, &maps), 0);
	assert_int_equal(sscanf(maps.data, "%lx-%lx", &m.vm_start, &m.vm_end), 2);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	m.ino = st.st_ino;
	assert_int_equal(opener_mapped_file(&m, &fd, path, sizeof(path)), 0);
	fd_close(&fd);
	assert_int_equal(opener_root(&m.process, &fd), 0);
	fd_close(&fd);
	kill(m.process.pid, SIGKILL);
	waitpid(m.process.pid, NULL, 0);
	assert_int_equal(opener_process(&m.process, &fd), -ENOENT);
}

/* A program of this name, which waits for the end of input. */
static pid_t start_program(const struct place *p, const char *name, int input)
{
	char command[256], path[128], *argv[] = { "sh", "-c", command, NULL }, *none[] = { NULL };
	int executed[2];
	char byte;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", p->root, name);
	snprintf(command, sizeof(command), "cp /bin/cat '%s'", path);
	pid = fork();
	if (pid == 0) {
		execve("/bin/sh", argv, none);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(input, STDIN_FILENO);
		execve(path, (char *[]){ "cat", NULL }, none);
		_exit(127);
	}
	close(executed[1]);
	assert_int_equal(read(executed[0], &byte, 1), 0);
	close(executed[0]);
	return pid;
}

static void a_program_has_the_name_of_its_file_whatever_its_threads_have(void **state)
{
	const struct place *p = *state;
	char name[32] = "", cut[5] = "";
	int input[2];
	struct opener_process process = { 0 };

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	prctl(PR_SET_NAME, "MainThread", 0, 0, 0);
	assert_int_equal(opener_program(&p->self, name, sizeof(name)), 0);
	assert_string_equal(name, "test_opener");
	assert_int_equal(opener_program(&p->self, cut, sizeof(cut)), 0);
	assert_string_equal(cut, "test");
	process.pid = start_program(p, "x]; 7", input[0]);
	assert_int_equal(opener_program(&process, name, sizeof(name)), 0);
	assert_string_equal(name, "x]; 7");
	assert_int_equal(unlinkat(p->root_fd, "x]; 7", 0), 0);
	assert_int_equal(opener_program(&process, name, sizeof(name)), 0);
	assert_string_equal(name, "x]; 7");
	process.start_ns = 1;
	assert_int_equal(opener_program(&process, name, sizeof(name)), -ESRCH);
	kill(process.pid, SIGKILL);
	waitpid(process.pid, NULL, 0);
	close(input[0]);
	close(input[1]);
}

static void a_folder_is_opened_inside_the_root(void **state)
{
	static const char *const rows[] = { "etc", "/etc", "tmp/link", "/tmp/up" };
	const struct place *p = *state;
	struct stat inside, opened;
	_cleanup_fd_ int fd = -1;

	assert_int_equal(symlinkat("/etc", p->root_fd, "tmp/link"), 0);
	assert_int_equal(symlinkat("../../../etc", p->root_fd, "tmp/up"), 0);
	assert_int_equal(fstatat(p->root_fd, "etc", &inside, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(opener_folder(p->root_fd, rows[i], &fd), 0);
		assert_int_equal(fstat(fd, &opened), 0);
		if (opened.st_ino != inside.st_ino || opened.st_dev != inside.st_dev)
			fail_msg("%s leads outside", rows[i]);
		fd_close(&fd);
	}
	assert_int_equal(opener_folder(p->root_fd, "etc/shadow", &fd), -ENOTDIR);
	assert_int_equal(opener_folder(p->root_fd, "usr", &fd), -ENOENT);
	assert_int_equal(fd, -1);
}

static void each_refusal_has_a_reason_and_absence_has_none(void **state)
{
	static const struct {
		int err, reason;
	} rows[] = {
		{ -EINVAL, FILE_NOT_REGULAR },
		{ -ELOOP, FILE_LINK },
		{ -EPERM, FILE_OWNER },
		{ -EACCES, FILE_DENIED },
		{ -ESTALE, FILE_STALE },
		{ -EFBIG, FILE_TOO_LARGE },
		{ -EIO, FILE_OTHER },
		{ -ENOENT, -1 },
		{ -ENOTDIR, -1 },
		{ -ESRCH, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (opener_reason(rows[i].err) != rows[i].reason)
			fail_msg("%s: %d", strerror(-rows[i].err), opener_reason(rows[i].err));
}

static void a_file_for_which_no_descriptor_is_left_met_the_limit(void **state)
{
	const struct opener_mapping mapping = {
		.process = { .pid = getpid() }, .vm_start = 4096, .vm_end = 8192
	};
	struct rlimit before, none;
	int fd = dup(STDERR_FILENO), reason;
	char path[64];

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ (rlim_t)fd, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	reason = opener_mapped_file(&mapping, &fd, path, sizeof(path));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(reason, OBJECT_LIMIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_has_its_answer_at_once_as_a_perf_map),
		TEST(each_kind_has_its_answer_at_once_as_a_debug_file),
		TEST(a_path_upwards_stays_inside),
		TEST(a_map_of_another_user_or_an_older_process_is_refused),
		TEST(a_users_path_leads_to_no_file_that_it_may_not_read),
		TEST(a_file_swapped_for_a_fifo_in_between_is_one_or_the_other),
		TEST(a_pid_that_is_another_process_by_now_is_seen),
		TEST(a_process_without_its_main_thread_is_that_of_another),
		TEST(a_program_has_the_name_of_its_file_whatever_its_threads_have),
		TEST(a_folder_is_opened_inside_the_root),
		cmocka_unit_test(a_file_for_which_no_descriptor_is_left_met_the_limit),
		cmocka_unit_test(each_refusal_has_a_reason_and_absence_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
