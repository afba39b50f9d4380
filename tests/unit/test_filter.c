/* SPDX-License-Identifier: Apache-2.0 */
/* test_filter.c - system calls that a process cannot be without, and those that it must not have.
 * The lists that kill are in test_sandbox.c. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <asm/sockios.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "worker/filter.h"
#include "worker/sandbox.h"
#include "worker/sanitizer.h"
#include "worker/users.h"

#define EXIT_NO_SANDBOX 99

/* The exit status of a child that does this. */
static int outside(int (*act)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(act());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* EPERM for each call that is denied, and files as before. */
static int do_denied(unsigned int what)
{
	static const struct {
		long call;
		bool all; /* denied by FILTER_DENY_ALL_BUT_FILES alone */
	} rows[] = {
		{ SYS_bpf, false },
		{ SYS_init_module, false },
		{ SYS_finit_module, false },
		{ SYS_delete_module, false },
		{ SYS_kexec_load, false },
#ifndef WITH_ASAN
		{ SYS_ptrace, false },
#endif
		{ SYS_userfaultfd, false },
		{ SYS_io_uring_setup, false },
		{ SYS_keyctl, false },
		{ SYS_execve, true },
		{ SYS_execveat, true },
		{ SYS_socket, true },
		{ SYS_connect, true },
		{ SYS_perf_event_open, true },
		{ SYS_process_vm_readv, true },
		{ SYS_kill, true },
		{ SYS_open_by_handle_at, true },
		{ SYS_mount, true },
		{ SYS_chroot, true },
		{ SYS_unshare, true },
		{ SYS_setns, true },
	};
	char name[] = "/tmp/stoker-denied-XXXXXX";
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_deny(what) < 0)
		return EXIT_NO_SANDBOX;
	/* Arguments that are wrong for each: an errno of its own, were it allowed. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((what == FILTER_DENY_ALL_BUT_FILES || !rows[i].all) &&
			(syscall(rows[i].call, -1, -1, -1, -1, -1, -1) != -1 || errno != EPERM))
			return 1 + (int)i;
	if (what != FILTER_DENY_ALL_BUT_FILES && (fd = socket(AF_UNIX, SOCK_STREAM, 0)) < 0)
		return 50;
	if (what == FILTER_DENY_ALL_BUT_FILES &&
		(syscall(SYS_tgkill, getppid(), getppid(), 0) == 0 || errno != EPERM ||
			syscall(SYS_tgkill, getpid(), getpid(), 0) < 0))
		return 52;
	fd = mkstemp(name);
	return fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0 && unlink(name) == 0 ? 0 : 51;
}

static int do_kernel_denied(void)
{
	return do_denied(FILTER_DENY_KERNEL | FILTER_DENY_BPF);
}

static int do_all_denied(void)
{
	return do_denied(FILTER_DENY_ALL_BUT_FILES);
}

static void who_works_outside_is_denied_the_kernel_and_more(void **state)
{
	int status;

	(void)state;
	status = outside(do_kernel_denied);
	assert_int_equal(status, 0);
	status = outside(do_all_denied);
	assert_int_equal(status, 0);
}

/* ENOSYS for what an agent has no use for: the number of the first that is not refused so. */
static int do_agent_denied(void)
{
	static const struct {
		long call, first, third;
	} rows[] = {
		{ SYS_execve, -1, -1 },
		{ SYS_execveat, -1, -1 },
		{ SYS_socket, -1, -1 },
		{ SYS_connect, -1, -1 },
		{ SYS_bind, -1, -1 },
#ifndef WITH_ASAN
		{ SYS_ptrace, -1, -1 },
#endif
		{ SYS_process_vm_readv, -1, -1 },
		{ SYS_process_vm_writev, -1, -1 },
		{ SYS_pidfd_getfd, -1, -1 },
		{ SYS_mount, -1, -1 },
		{ SYS_chroot, -1, -1 },
		{ SYS_unshare, -1, -1 },
		{ SYS_setns, -1, -1 },
		{ SYS_init_module, -1, -1 },
		{ SYS_kexec_load, -1, -1 },
		{ SYS_io_uring_setup, -1, -1 },
		{ SYS_userfaultfd, -1, -1 },
		{ SYS_keyctl, -1, -1 },
		{ SYS_mknodat, -1, -1 },
		{ SYS_setresuid, -1, -1 },
		{ SYS_clone3, -1, -1 },
		{ SYS_bpf, BPF_PROG_LOAD, -1 },
		{ SYS_bpf, BPF_MAP_CREATE, -1 },
		{ SYS_bpf, BPF_BTF_LOAD, -1 },
		{ SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, -1 },
		{ SYS_bpf, BPF_PROG_ATTACH, -1 },
		{ SYS_bpf, BPF_OBJ_PIN, -1 },
		{ SYS_clone, CLONE_NEWUSER | SIGCHLD, 0 },
		{ SYS_prlimit64, 1, 0 },
		{ SYS_mmap, 0, PROT_READ | PROT_EXEC },
		{ SYS_mprotect, 0, PROT_READ | PROT_EXEC },
	};

	if (filter_enter(FILTER_AGENT) < 0)
		return EXIT_NO_SANDBOX;
	/* Arguments that are wrong for each: an errno of its own, were it allowed. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (syscall(rows[i].call, rows[i].first, -1, rows[i].third, -1, -1, -1) != -1 ||
			errno != ENOSYS)
			return 1 + (int)i;
	return 0;
}

/* What it does all the time. */
static int do_agent_work(void)
{
	char name[] = "/tmp/stoker-agent-XXXXXX";
	union bpf_attr attr = { .map_fd = (uint32_t)-1 };
	struct rlimit files;
	int status = -1, fd;
	pid_t pid;

	if (filter_enter(FILTER_AGENT) < 0)
		return EXIT_NO_SANDBOX;
	if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) != -1 || errno == ENOSYS)
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
		return 5;
	fd = mkstemp(name);
	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0 || unlink(name) < 0)
		return 2;
	/* The end of a recorder that does not end by itself. */
	if (setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 60, 0 } }, NULL) < 0)
		return 4;
	pid = fork();
	if (pid == 0)
		_exit(filter_deny(FILTER_DENY_ALL_BUT_FILES) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 3;
}

/* 0: it may connect to sockets of this host, and to no others. */
static int do_inquire(void)
{
	if (filter_enter(FILTER_INQUIRER) < 0)
		return EXIT_NO_SANDBOX;
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0 || connect(-1, NULL, 0) == 0 || errno != EBADF)
		return 1;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != ENOSYS)
		return 2;
	return execl("/proc/self/exe", "x", NULL) == 0 || errno != ENOSYS ? 3 : 0;
}

static void an_agent_has_the_calls_of_sampling_and_no_others(void **state)
{
	int status;

	(void)state;
	status = outside(do_agent_denied);
	assert_int_equal(status, 0);
	status = outside(do_agent_work);
	assert_int_equal(status, 0);
	status = outside(do_inquire);
	assert_int_equal(status, 0);
}

/* 0: its sockets have options, and their closing does not wait. */
static int do_linger(enum filter filter)
{
	const struct linger linger = { 1, 3600 };
	const int on = 1;
	const long high = 1L << 32; /* the kernel does not look there */
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || filter_enter(filter) < 0)
		return EXIT_NO_SANDBOX;
	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0)
		return 1;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0 || errno != EPERM)
		return 2;
	return syscall(SYS_setsockopt, fd, SOL_SOCKET | high, SO_LINGER | high, &linger,
		       sizeof(linger)) == 0 ||
			errno != EPERM
		? 3
		: 0;
}

static int do_linger_of_server(void)
{
	return do_linger(FILTER_SERVER);
}

static int do_linger_of_fetcher(void)
{
	return do_linger(FILTER_FETCHER);
}

/* Else whoever it sends one to would wait. */
static void who_has_the_network_has_no_socket_whose_closing_waits(void **state)
{
	int status;

	(void)state;
	status = outside(do_linger_of_server);
	assert_int_equal(status, 0);
	status = outside(do_linger_of_fetcher);
	assert_int_equal(status, 0);
}

/* 0: its listener is as it was for whoever has it next, and its connections can be closed. */
static int do_listener(void)
{
	const struct sockaddr any = { .sa_family = AF_INET }; /* of the host, at a free port */
	const long high = 1L << 32, other = 1L << 33;
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	if (fd < 0 || bind(fd, &any, sizeof(any)) < 0 || listen(fd, 1) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || filter_keep_listener(fd) < 0 ||
		filter_enter(FILTER_SERVER) < 0)
		return EXIT_NO_SANDBOX;
	if (shutdown(fd, SHUT_RDWR) == 0 || errno != EPERM ||
		syscall(SYS_shutdown, fd | high, SHUT_RDWR) == 0 || errno != EPERM)
		return 1;
	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0 || errno != EPERM)
		return 2;
	if (fcntl(fd, F_DUPFD, 0) >= 0 || errno != EPERM ||
		syscall(SYS_fcntl, fd | other, F_DUPFD_CLOEXEC, 0) >= 0 || errno != EPERM)
		return 3;
	return shutdown(pair[0], SHUT_RDWR) == 0 && fcntl(pair[0], F_GETFL) >= 0 ? 0 : 4;
}

/* 0: no descriptor of it can signal another process. */
static int do_owner(enum filter filter)
{
	static const int commands[] = { F_SETOWN, F_SETOWN_EX, F_SETSIG, F_NOTIFY, F_SETLEASE };
	const long high = 1L << 32;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || filter_enter(filter) < 0)
		return EXIT_NO_SANDBOX;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (syscall(SYS_fcntl, fd, commands[i], 0) >= 0 || errno != EPERM ||
			syscall(SYS_fcntl, fd, commands[i] | high, 0) >= 0 || errno != EPERM)
			return 1 + (int)i;
	/* ioctl(2) kills the others. */
	if (filter != FILTER_AGENT && filter != FILTER_FETCHER)
		return fcntl(fd, F_GETFL) >= 0 ? 0 : 21;
	if (ioctl(fd, FIOASYNC, &fd) == 0 || errno != EPERM || ioctl(fd, FIOSETOWN, &fd) == 0 ||
		errno != EPERM || ioctl(fd, SIOCSPGRP, &fd) == 0 || errno != EPERM)
		return 20;
	return fcntl(fd, F_GETFL) >= 0 ? 0 : 21;
}

static int do_owner_of_opener(void)
{
	return do_owner(FILTER_OPENER);
}

static int do_owner_of_server(void)
{
	return do_owner(FILTER_SERVER);
}

static int do_owner_of_agent(void)
{
	return do_owner(FILTER_AGENT);
}

static int do_owner_of_fetcher(void)
{
	return do_owner(FILTER_FETCHER);
}

static void no_descriptor_signals_another_process(void **state)
{
	int (*const all[])(void) = { do_owner_of_opener, do_owner_of_server, do_owner_of_agent,
		do_owner_of_fetcher };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int status = outside(all[i]);

		assert_int_equal(status, 0);
	}
}

static void a_server_leaves_its_listener_as_it_is(void **state)
{
	int status;

	(void)state;
	status = outside(do_listener);
	assert_int_equal(status, 0);
}

/* 0: it has no right, sees processes, and opens or starts nothing else. */
static int do_idle(void)
{
	static const struct {
		const char *path;
		int flags, err;
	} rows[] = {
		{ "/proc/self/statm", O_RDONLY, 0 },
		{ "/etc/passwd", O_RDONLY, ENOENT },
		{ "/proc/1/environ", O_RDONLY, EACCES },
		{ "/proc/self/timerslack_ns", O_WRONLY, ENOSYS },
		{ "/made", O_WRONLY | O_CREAT, ENOSYS },
	};
	uint32_t report = 0;
	int fd;

	if (sandbox_enter_idle(&report) < 0 || report != (SANDBOX_PROC | SANDBOX_USER))
		return EXIT_NO_SANDBOX;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((open(rows[i].path, rows[i].flags, 0600) < 0 ? errno : 0) != rows[i].err)
			return 1 + (int)i;
	if (getuid() < USERS_SERVER || getuid() >= USERS_SERVER + USERS_CHOICES)
		return 10;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != ENOSYS || fork() >= 0 ||
		errno != ENOSYS || kill(getppid(), 0) == 0 || errno != ENOSYS)
		return 11;
	/* What it sends. */
	if (fd_in_memory("status", "x", 1, &fd) < 0)
		return 12;
	return 0;
}

static void an_idle_daemon_opens_and_starts_nothing(void **state)
{
	const uint64_t needed =
		CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_KILL);
	int status;

	(void)state;
	if (geteuid() != 0 || (~caps_permitted() & needed))
		skip();
	status = outside(do_idle);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_works_outside_is_denied_the_kernel_and_more),
		cmocka_unit_test(an_agent_has_the_calls_of_sampling_and_no_others),
		cmocka_unit_test(an_idle_daemon_opens_and_starts_nothing),
		cmocka_unit_test(who_has_the_network_has_no_socket_whose_closing_waits),
		cmocka_unit_test(a_server_leaves_its_listener_as_it_is),
		cmocka_unit_test(no_descriptor_signals_another_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
