/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes that run already (runtime.h) are told to write their maps, and no more.
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
#include "runtime.h"

static bool impatient; /* no poll waits for more than a fifth of a second */

int __real_poll(struct pollfd *fds, nfds_t len, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t len, int ms);

int __wrap_poll(struct pollfd *fds, nfds_t len, int ms)
{
	return __real_poll(fds, len, impatient && ms > 200 ? 200 : ms);
}

static void a_dotnet_map_is_turned_on_and_cleared_away(void **state)
{
	struct jit_control c;
	unsigned int removed;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "dotnet", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(c.runtime, JIT_CONTROL_DOTNET);
	assert_string_equal(c.version, "9.0.5");
	assert_false(runtime_has(&r, "perf-%d.map"));
	jit_control_prepare(&c);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_true(runtime_has(&r, "perf-%d.map"));
	assert_int_equal(jit_control_refresh(&c, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 2);
	assert_false(runtime_has(&r, "perf-%d.map"));
	assert_false(runtime_has(&r, "perfinfo-%d.map"));
	jit_control_close(&c);
	runtime_stop(&r);
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
	runtime_start(&r, "dotnet", NULL);
	snprintf(path, sizeof(path), "%s/perf-%d.map", r.dir, r.pid);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	jit_control_prepare(&c);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 1);
	assert_true(runtime_has(&r, "perf-%d.map"));
	assert_false(runtime_has(&r, "perfinfo-%d.map"));
	jit_control_close(&c);
	runtime_stop(&r);
}

static void a_map_that_the_program_was_started_with_is_left_alone(void **state)
{
	struct jit_control c;
	unsigned int removed = 7;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "dotnet", "COMPlus_PerfMapEnabled=1");
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_true(c.was_on);
	jit_control_prepare(&c);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_false(runtime_has(&r, "perf-%d.map"));
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 0);
	jit_control_close(&c);
	runtime_stop(&r);
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
		runtime_start(&r, rows[i].mode, NULL);
		assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
		assert_int_equal(
			dotnet_ipc_enable(&target, DOTNET_IPC_PERF_MAP, &why), rows[i].err);
		if (!strstr(why.text, rows[i].text))
			fail_msg("%s", why.text);
		jit_target_close(&target);
		runtime_stop(&r);
	}
}

static void diagnostics_that_are_off_are_named(void **state)
{
	struct jit_target target;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "none", "DOTNET_EnableDiagnostics=0");
	assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
	assert_int_equal(dotnet_ipc_disable(&target, &why), -ENOENT);
	assert_non_null(strstr(why.text, "DOTNET_EnableDiagnostics=0"));
	jit_target_close(&target);
	runtime_stop(&r);
}

static void a_jvm_is_woken_and_writes_its_map(void **state)
{
	struct jit_control c;
	unsigned int removed;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "jvm", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	assert_int_equal(c.runtime, JIT_CONTROL_JVM);
	jit_control_look(&c); /* sends no signal: nothing is known yet */
	assert_string_equal(c.version, "");
	jit_control_prepare(&c);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), 0);
	assert_string_equal(c.version, "11.0.2");
	assert_non_null(strstr(c.note, "-XX:+PreserveFramePointer"));
	assert_false(runtime_has(&r, ".attach_pid%d"));
	assert_int_equal(jit_control_refresh(&c, &why), 0);
	assert_int_equal(jit_control_disable(&c, &removed, &why), 0);
	assert_int_equal(removed, 1);
	jit_control_close(&c);
	runtime_stop(&r);
}

static void an_old_java_is_told_from_a_new_one(void **state)
{
	struct jit_control c;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "jvm-11", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), 0);
	jit_control_prepare(&c);
	assert_int_equal(jit_control_enable(&c, DOTNET_IPC_PERF_MAP, &why), -ENOSYS);
	assert_non_null(strstr(why.text, "runs Java 11.0.2, and perf maps need Java 17"));
	jit_control_close(&c);
	runtime_stop(&r);
}

static void a_client_that_the_jvm_stopped_is_not_waited_for(void **state)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	struct jit_target target;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "jvm-stops-its-client", NULL);
	assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
	impatient = true;
	assert_int_equal(jvm_attach_command(&target, "VM.version", &reply, &why), -ETIMEDOUT);
	impatient = false;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	jit_target_close(&target);
	runtime_stop(&r);
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
		runtime_start(&r, modes[i], NULL);
		assert_int_equal(jit_target_open(r.pid, &target, &why), 0);
		assert_int_equal(
			jvm_attach_command(&target, "Compiler.perfmap", &reply, &why), -ENOTSUP);
		assert_true(lives(r.pid));
		jit_target_close(&target);
		runtime_stop(&r);
	}
}

static void a_process_without_a_jit_is_refused(void **state)
{
	struct jit_control c;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "none", NULL);
	assert_int_equal(jit_control_open(r.pid, &c, &why), -ENOTSUP);
	assert_non_null(strstr(why.text, "neither .NET"));
	runtime_stop(&r);
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
	server = runtime_listen(path);
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
		return runtime_serve(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
