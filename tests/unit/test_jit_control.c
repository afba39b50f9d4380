/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes that run already, played by this program itself: `serve MODE` is a process with the
 * socket (and, for a JVM, the mapping) by which the real one is known.
 * LINK: -Wl,--wrap=poll */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jit/jit_control.h"
#include "jit/jvm_attach.h"
#include "jit/unix_client.h"

static bool impatient; /* no poll waits for more than a fifth of a second */

int __real_poll(struct pollfd *fds, nfds_t len, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t len, int ms);

int __wrap_poll(struct pollfd *fds, nfds_t len, int ms)
{
	return __real_poll(fds, len, impatient && ms > 200 ? 200 : ms);
}

/* ---- the runtime's side --------------------------------------------------------------------- */

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		_exit(9);
	return fd;
}

static void touch(const char *format, const char *text)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), format, getpid());
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	fd_write_all(fd, text, strlen(text));
	close(fd);
}

static void ready(void)
{
	fd_write_all(STDOUT_FILENO, "r", 1);
}

static unsigned long long own_start(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	unsigned long long start = 0;

	fd_read_path("/proc/self/stat", 4096, &text);
	sscanf(strrchr(text.data, ')') + 2,
		"%*c %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu",
		&start);
	return start;
}

static void answer(int fd, uint8_t id, const void *payload, size_t size)
{
	uint8_t message[512] = "DOTNET_IPC_V1";
	uint16_t whole = (uint16_t)(20 + size);

	memcpy(message + 14, &whole, sizeof(whole));
	message[16] = 0xff;
	message[17] = id;
	memcpy(message + 20, payload, size);
	fd_write_all(fd, message, whole);
}

static size_t put_text(uint8_t *out, const char *text)
{
	uint32_t units = (uint32_t)strlen(text) + 1;

	memset(out, 0, 4 + 2 * units);
	memcpy(out, &units, sizeof(units));
	for (uint32_t i = 0; i < units; i++)
		out[4 + 2 * i] = (uint8_t)text[i];
	return 4 + 2 * units;
}

static void answer_info(int fd)
{
	static const char *const texts[] = { "Mill 1 2", "Linux", "x64", "Mill", "9.0.5" };
	uint8_t payload[256] = { 0 };
	size_t n = 4 + 8 + 16;

	for (size_t i = 0; i < 5; i++)
		n += put_text(payload + n, texts[i]);
	answer(fd, 0, payload, n);
}

static void dotnet_request(int fd, const char *mode)
{
	static const uint32_t unknown = 0x80131385, refused = 0x80131515;
	uint8_t head[64] = { 0 };
	ssize_t got = read(fd, head, sizeof(head));

	if (strcmp(mode, "dotnet-garbage") == 0)
		fd_write_all(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	else if (strcmp(mode, "dotnet-short") == 0)
		fd_write_all(fd, "DOTNET_IPC_V1\0\xff\xff\xff", 17);
	else if (got < 20 || head[16] != 4)
		answer(fd, 0xff, &refused, sizeof(refused));
	else if (head[17] == 8 && strcmp(mode, "dotnet") == 0)
		answer_info(fd);
	else if (head[17] == 5 && strcmp(mode, "dotnet-refuses") == 0)
		answer(fd, 0xff, &refused, sizeof(refused));
	else if (strcmp(mode, "dotnet-7") == 0 || head[17] > 6)
		answer(fd, 0xff, &unknown, sizeof(unknown));
	else {
		if (head[17] == 5) {
			touch("perf-%d.map", head[20] == 2 ? "" : "1000 10 x\n");
			touch("perfinfo-%d.map", "");
		}
		answer(fd, 0, "", 0);
	}
}

static void serve_dotnet(const char *mode)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "dotnet-diagnostic-%d-%llu-socket", getpid(), own_start());
	fd = listen_at(path);
	ready();
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		dotnet_request(connection, mode);
		close(connection);
	}
}

static int quit_pipe[2];

static void on_quit(int number)
{
	(void)number;
	if (write(quit_pipe[1], "q", 1) < 0)
		_exit(9);
}

static void stop_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
		kill(peer.pid, SIGSTOP) < 0)
		_exit(9);
}

static void jvm_request(int fd, const char *mode)
{
	char request[64] = { 0 };
	size_t got = 0;

	if (strcmp(mode, "jvm-stops-its-client") == 0)
		stop_peer(fd);

	/* version, command, three arguments */
	for (int nuls = 0; nuls < 5 && got < sizeof(request) - 1; got++) {
		if (read(fd, request + got, 1) != 1)
			return;
		nuls += request[got] == '\0';
	}
	if (strcmp(mode, "jvm-11") == 0 && strcmp(request + 7, "VM.version") != 0)
		fd_write_all(fd,
			"1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", 65);
	else if (strcmp(request + 7, "VM.version") == 0)
		fd_write_all(fd, "0\nSome VM\nJDK 11.0.2\n", 21);
	else if (strcmp(request + 7, "VM.flags") == 0)
		fd_write_all(fd, "0\n-XX:CICompilerCount=2\n", 24);
	else if (strcmp(request, "1") == 0 && strcmp(request + 2, "jcmd") == 0) {
		touch("/tmp/perf-%d.map", "0x1000 0x10 f\n");
		fd_write_all(fd, "0\n", 2);
	}
}

static void serve_jvm(const char *mode)
{
	char trigger[64], path[64], byte;
	struct stat st;
	int fd = open("libjvm.so", O_CREAT | O_RDWR, 0600);

	if (ftruncate(fd, 4096) < 0 || pipe(quit_pipe) < 0 ||
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(9);
	if (strcmp(mode, "jvm-deaf") != 0)
		signal(SIGQUIT, on_quit);
	/* of a process that had our number before */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	ready();
	snprintf(trigger, sizeof(trigger), ".attach_pid%d", getpid());
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", getpid());
	while (read(quit_pipe[0], &byte, 1) != 1)
		;
	if (stat(trigger, &st) < 0)
		_exit(8);
	fd = listen_at(path);
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		jvm_request(connection, mode);
		close(connection);
	}
}

static int serve(const char *mode)
{
	alarm(60);
	if (strncmp(mode, "dotnet", 6) == 0)
		serve_dotnet(mode);
	if (strncmp(mode, "jvm", 3) == 0)
		serve_jvm(mode);
	ready();
	pause();
	return 0;
}

/* ---- the tests' side ------------------------------------------------------------------------ */

struct runtime {
	char dir[32];
	pid_t pid;
};

static void start(struct runtime *r, const char *mode, const char *variable)
{
	char tmpdir[64], maps[64];
	int fds[2];
	char byte;

	snprintf(r->dir, sizeof(r->dir), "/tmp/stoker-jit-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	assert_int_equal(pipe(fds), 0);
	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", r->dir);
	snprintf(maps, sizeof(maps), "DOTNET_PerfMapJitDumpPath=%s", r->dir);
	r->pid = fork();
	if (r->pid == 0) {
		char *const env[] = { tmpdir, maps, (char *)variable, NULL };
		char *const argv[] = { "runtime", "serve", (char *)mode, NULL };

		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		if (chdir(r->dir) == 0)
			execve("/proc/self/exe", argv, env);
		_exit(9);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
}

static void stop(struct runtime *r)
{
	char command[128];

	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s /tmp/.java_pid%d /tmp/perf-%d.map", r->dir,
		r->pid, r->pid);
	assert_int_equal(system(command), 0);
}

static bool has_file(const struct runtime *r, const char *format)
{
	char name[32], path[80];

	snprintf(name, sizeof(name), format, r->pid);
	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	return access(path, F_OK) == 0;
}

static void a_dotnet_map_is_turned_on_and_cleared_away(void **state)
{
	struct jit_control c;
	unsigned int removed;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "dotnet", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(c.runtime, JIT_CONTROL_DOTNET);
	assert_string_equal(c.version, "9.0.5");
	assert_false(has_file(&r, "perf-%d.map"));
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_true(has_file(&r, "perf-%d.map"));
	assert_int_equal(jit_control_refresh(&c, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 2);
	assert_false(has_file(&r, "perf-%d.map"));
	assert_false(has_file(&r, "perfinfo-%d.map"));
	jit_control_close(&c);
	stop(&r);
}

static void files_that_were_there_before_stay(void **state)
{
	struct jit_control c;
	unsigned int removed;
	char path[80];
	struct runtime r;
	struct why why;
	int fd;

	(void)state;
	start(&r, "dotnet", NULL);
	snprintf(path, sizeof(path), "%s/perf-%d.map", r.dir, r.pid);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 1);
	assert_true(has_file(&r, "perf-%d.map"));
	assert_false(has_file(&r, "perfinfo-%d.map"));
	jit_control_close(&c);
	stop(&r);
}

static void a_map_that_the_program_was_started_with_is_left_alone(void **state)
{
	struct jit_control c;
	unsigned int removed = 7;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "dotnet", "COMPlus_PerfMapEnabled=1");
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_true(c.was_on);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_false(has_file(&r, "perf-%d.map"));
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 0);
	jit_control_close(&c);
	stop(&r);
}

static void what_a_dotnet_runtime_cannot_do_is_said_in_words(void **state)
{
	static const struct {
		const char *mode;
		int err;
		const char *text;
	} rows[] = {
		{ "dotnet-7", -ENOSYS, "need .NET 8" },
		{ "dotnet-refuses", -EREMOTEIO, "not supported (0x80131515)" },
		{ "dotnet-garbage", -EPROTO, "no answer from the .NET runtime" },
		{ "dotnet-short", -EPROTO, "no answer from the .NET runtime" },
		{ "none", -ENOENT, "has no diagnostics socket /tmp/stoker-jit-" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jit_target target;
		struct runtime r;
		struct why why;

		print_message("row %zu: %s\n", i, rows[i].mode);
		start(&r, rows[i].mode, NULL);
		assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
		assert_int_equal(
			dotnet_ipc_enable(&target, DOTNET_IPC_PERF_MAP, &why), rows[i].err);
		if (!strstr(why.text, rows[i].text))
			fail_msg("%s", why.text);
		jit_target_close(&target);
		stop(&r);
	}
}

static void diagnostics_that_are_off_are_named(void **state)
{
	struct jit_target target;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "none", "DOTNET_EnableDiagnostics=0");
	assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
	assert_int_equal(dotnet_ipc_disable(&target, &why), -ENOENT);
	assert_non_null(strstr(why.text, "DOTNET_EnableDiagnostics=0"));
	jit_target_close(&target);
	stop(&r);
}

static void a_jvm_is_woken_and_writes_its_map(void **state)
{
	struct jit_control c;
	unsigned int removed;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "jvm", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(c.runtime, JIT_CONTROL_JVM);
	jit_control_look(&c); /* sends no signal: nothing is known yet */
	assert_string_equal(c.version, "");
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_string_equal(c.version, "11.0.2");
	assert_non_null(strstr(c.note, "-XX:+PreserveFramePointer"));
	assert_false(has_file(&r, ".attach_pid%d"));
	assert_int_equal(jit_control_refresh(&c, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 1);
	jit_control_close(&c);
	stop(&r);
}

static void an_old_java_is_told_from_a_new_one(void **state)
{
	struct jit_control c;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "jvm-11", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), -ENOSYS);
	assert_non_null(strstr(why.text, "runs Java 11.0.2, and perf maps need Java 17"));
	jit_control_close(&c);
	stop(&r);
}

static void a_client_that_the_jvm_stopped_is_not_waited_for(void **state)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	struct jit_target target;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "jvm-stops-its-client", NULL);
	assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
	impatient = true;
	assert_int_equal(jvm_attach_command(&target, "VM.version", &reply, &why), -ETIMEDOUT);
	impatient = false;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	jit_target_close(&target);
	stop(&r);
}

static bool lives(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void who_would_die_of_sigquit_gets_none(void **state)
{
	static const char *const modes[] = { "none", "dotnet", "jvm-deaf" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		_cleanup_(buf_done) struct buf reply = BUF_INIT;
		struct jit_target target;
		struct runtime r;
		struct why why;

		print_message("%s\n", modes[i]);
		start(&r, modes[i], NULL);
		assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
		assert_int_equal(
			jvm_attach_command(&target, "Compiler.perfmap", &reply, &why), -ENOTSUP);
		assert_true(lives(r.pid));
		jit_target_close(&target);
		stop(&r);
	}
}

static void a_process_without_a_jit_is_refused(void **state)
{
	struct jit_control c;
	struct runtime r;
	struct why why;

	(void)state;
	start(&r, "none", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), -ENOTSUP);
	assert_non_null(strstr(why.text, "neither .NET"));
	stop(&r);
	assert_int_equal(jit_control_open(r.pid, &c, &why), -ESRCH);
}

static void a_socket_is_looked_at_before_it_is_used(void **state)
{
	uint64_t soon = clock_ns(CLOCK_MONOTONIC) + 5 * NSEC_PER_SEC;
	char dir[] = "/tmp/stoker-jit-XXXXXX", path[64];
	int dir_fd, fd = -1, server, kept;

	(void)state;
	assert_non_null(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/s", dir);
	server = listen_at(path);
	assert_int_equal(symlinkat("s", dir_fd, "link"), 0);
	assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
	assert_int_equal(
		unix_client_connect(dir_fd, "none", getuid(), getpid(), soon, &fd), -ENOENT);
	assert_int_equal(
		unix_client_connect(dir_fd, "link", getuid(), getpid(), soon, &fd), -ENOTSOCK);
	assert_int_equal(
		unix_client_connect(dir_fd, "fifo", getuid(), getpid(), soon, &fd), -ENOTSOCK);
	assert_int_equal(unix_client_connect(dir_fd, "s", getuid(), 1, soon, &fd), -EXDEV);
	assert_int_equal(fd, -1);
	assert_int_equal(unix_client_connect(dir_fd, "s", getuid(), getpid(), soon, &fd), 0);
	kept = fd;
	assert_true(kept >= 0);
	close(server);
	assert_int_equal(
		unix_client_connect(dir_fd, "s", getuid(), getpid(), soon, &fd), -ECONNREFUSED);
	close(kept);
	unlink(path);
	unlinkat(dir_fd, "link", 0);
	unlinkat(dir_fd, "fifo", 0);
	close(dir_fd);
	rmdir(dir);
}

static void nothing_waits_beyond_the_deadline(void **state)
{
	static char much[1 << 20];
	int fds[2];
	size_t got = 7;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(unix_client_receive(fds[0], much, 10, 1, &got), -ETIMEDOUT);
	assert_int_equal(got, 7);
	assert_int_equal(unix_client_send(fds[0], much, sizeof(much), 1), -ETIMEDOUT);
	close(fds[1]);
	assert_int_equal(unix_client_send(fds[0], much, sizeof(much), 1), -EPIPE);
	close(fds[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dotnet_map_is_turned_on_and_cleared_away),
		cmocka_unit_test(files_that_were_there_before_stay),
		cmocka_unit_test(a_map_that_the_program_was_started_with_is_left_alone),
		cmocka_unit_test(what_a_dotnet_runtime_cannot_do_is_said_in_words),
		cmocka_unit_test(diagnostics_that_are_off_are_named),
		cmocka_unit_test(a_jvm_is_woken_and_writes_its_map),
		cmocka_unit_test(an_old_java_is_told_from_a_new_one),
		cmocka_unit_test(a_client_that_the_jvm_stopped_is_not_waited_for),
		cmocka_unit_test(who_would_die_of_sigquit_gets_none),
		cmocka_unit_test(a_process_without_a_jit_is_refused),
		cmocka_unit_test(a_socket_is_looked_at_before_it_is_used),
		cmocka_unit_test(nothing_waits_beyond_the_deadline),
	};

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
