/* SPDX-License-Identifier: Apache-2.0 */
/* test_child.c - a process of ours from its start to its end. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "open_files.h"

static struct child must_start(const struct child_plan *plan)
{
	struct child child;

	assert_int_equal(child_start(plan, &child), 0);
	return child;
}

static int exit_status(const struct child_plan *plan)
{
	struct child child = must_start(plan);
	struct child_end end;

	child_close(&child, &end);
	assert_true(WIFEXITED(end.status));
	return WEXITSTATUS(end.status);
}

static int run_pause(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	while (pause() < 0)
		;
	return 0;
}

static int run_number(void *ctx, int fd)
{
	(void)fd;
	return *(int *)ctx;
}

static void its_result_is_the_exit_status(void **state)
{
	int number = 42;

	(void)state;
	assert_int_equal(
		exit_status(&(struct child_plan){ .run = run_number, .ctx = &number }), number);
}

static void a_child_that_was_reaped_is_none(void **state)
{
	int number = 0;
	struct child child = must_start(&(struct child_plan){ .run = run_number, .ctx = &number });
	struct child_end end;

	(void)state;
	assert_true(child.pid > 0 && child.pidfd >= 0 && child.fd < 0);
	assert_int_equal(child_wait(&child, -1, &end), 0);
	assert_true(child.pid == 0 && child.pidfd < 0);
	assert_int_equal(child_wait(&child, -1, &end), -ECHILD);
	child_signal(&child, SIGKILL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_child_that_runs_is_not_waited_for(void **state)
{
	struct child child = must_start(&(struct child_plan){ .run = run_pause });
	struct child_end end;

	(void)state;
	assert_int_equal(child_wait(&child, 0, &end), -EAGAIN);
	assert_int_equal(child_wait(&child, 1, &end), -EAGAIN);
	child_signal(&child, SIGTERM);
	assert_int_equal(child_wait(&child, -1, &end), 0);
	assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGTERM && !end.late);
}

static void a_stop_is_reported_once_and_an_end_is_none(void **state)
{
	const struct child_plan plan = { .run = run_pause };
	struct child child = must_start(&plan);
	struct child_end end;

	(void)state;
	assert_false(child_was_stopped(&child));
	child_signal(&child, SIGSTOP);
	while (!child_was_stopped(&child))
		sched_yield();
	assert_false(child_was_stopped(&child));
	child_signal(&child, SIGCONT);
	assert_true(child_was_stopped(&child));
	child_signal(&child, SIGKILL);
	assert_int_equal(child_wait(&child, -1, &end), 0);
	assert_int_equal(WTERMSIG(end.status), SIGKILL);
	assert_false(child_was_stopped(&child));
}

static void a_child_that_is_left_keeps_no_descriptor_open(void **state)
{
	size_t before = open_files(), after;
	struct child child = must_start(&(struct child_plan){ .run = run_pause, .socket = true });
	pid_t pid = child.pid;

	(void)state;
	child_leave(&child);
	after = open_files();
	/* It runs on: it must not outlive a failure of this test. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(after, before);
	assert_true(child.pid == 0 && child.pidfd < 0 && child.fd < 0);
}

static void a_deadline_kills(void **state)
{
	const struct child_plan plan = { .run = run_pause,
		.deadline_ns = clock_ns(CLOCK_MONOTONIC) + 20 * NSEC_PER_MSEC };
	struct child child = must_start(&plan);
	struct child_end end;

	(void)state;
	assert_int_equal(child_wait(&child, -1, &end), 0);
	assert_true(clock_ns(CLOCK_MONOTONIC) >= plan.deadline_ns);
	assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL && end.late);
	/* And where the caller only looks now and then. */
	child = must_start(&plan);
	while (child_wait(&child, 0, &end) == -EAGAIN)
		;
	assert_true(end.late);
}

static void a_deadline_does_not_concern_a_child_that_has_ended(void **state)
{
	int number = 3;
	struct child child = must_start(&(struct child_plan){
		.run = run_number, .ctx = &number, .deadline_ns = clock_ns(CLOCK_MONOTONIC) });
	struct pollfd ended = { .fd = child.pidfd, .events = POLLIN };
	struct child_end end;

	(void)state;
	assert_int_equal(poll(&ended, 1, -1), 1);
	assert_int_equal(child_wait(&child, 0, &end), 0);
	assert_true(WIFEXITED(end.status) && WEXITSTATUS(end.status) == number && !end.late);
}

/* Its descriptors are these copies, its socket and no others. */
static int run_fds(void *ctx, int fd)
{
	char byte = 0;

	if (open_files() != 4 || fd != 3 || fcntl(fd, F_GETFD) != 0)
		return 1;
	if (read(0, &byte, 1) != 0 || write(1, "x", 1) != 1 || read(2, &byte, 1) != 1)
		return 2;
	return byte == *(char *)ctx ? 0 : 3;
}

static void it_has_the_descriptors_of_its_plan_and_no_others(void **state)
{
	int pipes[2];
	char byte = 'y';
	const struct child_plan plan = { .run = run_fds, .ctx = &byte, .socket = true };
	struct child_plan with = plan;
	size_t before = open_files();

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		_cleanup_fd_ int in = -1, out = -1;

		assert_int_equal(pipe(pipes), 0);
		in = pipes[0];
		out = pipes[1];
		assert_int_equal(write(out, &byte, 1), 1);
		with.fds = (const int[]){ turn == 0 ? -1 : 4000, out, in };
		with.fds_len = 3;
		assert_int_equal(exit_status(&with), 0);
		byte = 'y';
	}
	assert_int_equal(open_files(), before);
	with.fds = (const int[]){ -1, -1, -1 };
	assert_int_equal(exit_status(&with), 2);
}

static int run_swapped(void *ctx, int fd)
{
	char bytes[2] = "";

	(void)ctx;
	(void)fd;
	return read(3, &bytes[0], 1) == 1 && read(4, &bytes[1], 1) == 1 &&
			memcmp(bytes, "ba", 2) == 0
		? 0
		: 1;
}

/* Each source is in the other one's place. */
static void descriptors_may_change_places(void **state)
{
	const int fds[] = { -1, -1, 2, 4, 3 };
	int a[2], b[2], kept[2] = { fcntl(3, F_DUPFD, 10), fcntl(4, F_DUPFD, 10) };

	(void)state;
	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	assert_int_equal(write(a[1], "a", 1) + write(b[1], "b", 1), 2);
	for (int i = 0; i < 2; i++) {
		int *from = i == 0 ? &a[0] : &b[0], high = fcntl(*from, F_DUPFD, 20);

		fd_close(from);
		*from = high;
	}
	assert_int_equal(dup2(a[0], 3), 3);
	assert_int_equal(dup2(b[0], 4), 4);
	assert_int_equal(exit_status(&(struct child_plan){
				 .run = run_swapped, .fds = fds, .fds_len = ARRAY_SIZE(fds) }),
		0);
	for (int i = 0; i < 2; i++) {
		fd_close(&a[i]);
		fd_close(&b[i]);
		close(3 + i);
		if (kept[i] >= 0)
			dup2(kept[i], 3 + i);
		fd_close(&kept[i]);
	}
}

static int run_limited(void *ctx, int fd)
{
	char name[16] = "";
	sigset_t blocked;

	(void)ctx;
	(void)fd;
	prctl(PR_GET_NAME, name);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	return caps_permitted() != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
		strcmp(name, "limited") != 0 || sigismember(&blocked, SIGUSR1) != 1;
}

static void its_name_capabilities_and_signals_are_the_plans(void **state)
{
	(void)state;
	assert_int_equal(exit_status(&(struct child_plan){ .run = run_limited,
				 .name = "limited",
				 .limited = true,
				 .signals = CHILD_SIGNALS_BLOCKED }),
		0);
}

static int run_nice(void *ctx, int fd)
{
	char group[64] = "";
	int file = open("/proc/self/autogroup", O_RDONLY);

	(void)ctx;
	(void)fd;
	if (file >= 0 && read(file, group, sizeof(group) - 1) <= 0)
		return 2;
	fd_close(&file);
	return getsid(0) != getpid() || getpriority(PRIO_PROCESS, 0) != 7 ||
		(group[0] && !strstr(group, " nice 7\n"));
}

static void a_nice_value_is_its_own_and_that_of_a_session_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(exit_status(&(struct child_plan){ .run = run_nice, .nice = 7 }), 0);
	assert_int_not_equal(getpriority(PRIO_PROCESS, 0), 7);
}

static int run_mask(void *ctx, int fd)
{
	sigset_t blocked;

	(void)ctx;
	(void)fd;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	return sigismember(&blocked, SIGUSR1) | sigismember(&blocked, SIGUSR2) << 1;
}

static void signals_are_blocked_as_before_or_not_at_all(void **state)
{
	sigset_t one, before, after;

	(void)state;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigprocmask(SIG_BLOCK, &one, &before);
	assert_int_equal(exit_status(&(struct child_plan){ .run = run_mask }), 1);
	assert_int_equal(
		exit_status(&(struct child_plan){ .run = run_mask, .signals = CHILD_SIGNALS_OPEN }),
		0);
	sigprocmask(SIG_SETMASK, &before, &after);
	assert_int_equal(sigismember(&after, SIGUSR1), 1);
	assert_int_equal(sigismember(&after, SIGUSR2), 0);
}

/* Reports that it runs. */
static int run_mortal(void *ctx, int fd)
{
	pid_t pid = getpid();

	return fd_write_all(*(int *)ctx, &pid, sizeof(pid)) < 0 || run_pause(NULL, fd);
}

/* Starts a child that dies with it, and ends at a byte. */
static int run_parent(void *ctx, int fd)
{
	const struct child_plan plan = { .run = run_mortal, .ctx = &fd, .death_signal = SIGKILL };
	struct child child;
	char byte;

	(void)ctx;
	return child_start(&plan, &child) < 0 || read(fd, &byte, 1) != 1;
}

static void a_death_signal_ends_it_with_its_parent(void **state)
{
	struct child parent, orphan;
	struct child_end end;
	pid_t pid;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	parent = must_start(&(struct child_plan){ .run = run_parent, .socket = true });
	assert_int_equal(read(parent.fd, &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(write(parent.fd, "x", 1), 1);
	child_close(&parent, NULL);
	child_adopt(&orphan, pid, -1);
	assert_int_equal(child_wait(&orphan, -1, &end), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL);
}

static int run_own_nice(void *ctx, int fd)
{
	char group[64] = "";
	int file;

	(void)ctx, (void)fd;
	setsid();
	child_set_own_nice(7);
	file = open("/proc/self/autogroup", O_RDONLY);
	if (file >= 0 && read(file, group, sizeof(group) - 1) <= 0)
		return 2;
	fd_close(&file);
	return getpriority(PRIO_PROCESS, 0) != 7 || (group[0] && !strstr(group, " nice 0\n"));
}

static void a_nice_value_can_leave_the_session_as_it_is(void **state)
{
	(void)state;
	assert_int_equal(exit_status(&(struct child_plan){ .run = run_own_nice }), 0);
}

static int run_soon(void *ctx, int fd)
{
	(void)ctx, (void)fd;
	return child_slice_ns() != CHILD_SLICE_NS;
}

/* It runs at once when it wakes up on a busy host. */
static void a_process_with_a_nice_value_has_short_slices(void **state)
{
	(void)state;
	if (child_slice_ns() == 0)
		skip(); /* before Linux 6.12 */
	assert_int_not_equal(child_slice_ns(), CHILD_SLICE_NS);
	assert_int_equal(exit_status(&(struct child_plan){ .run = run_soon, .nice = 7 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_result_is_the_exit_status),
		cmocka_unit_test(a_child_that_was_reaped_is_none),
		cmocka_unit_test(a_child_that_runs_is_not_waited_for),
		cmocka_unit_test(a_stop_is_reported_once_and_an_end_is_none),
		cmocka_unit_test(a_child_that_is_left_keeps_no_descriptor_open),
		cmocka_unit_test(a_deadline_kills),
		cmocka_unit_test(a_deadline_does_not_concern_a_child_that_has_ended),
		cmocka_unit_test(it_has_the_descriptors_of_its_plan_and_no_others),
		cmocka_unit_test(descriptors_may_change_places),
		cmocka_unit_test(its_name_capabilities_and_signals_are_the_plans),
		cmocka_unit_test(a_nice_value_is_its_own_and_that_of_a_session_of_its_own),
		cmocka_unit_test(a_nice_value_can_leave_the_session_as_it_is),
		cmocka_unit_test(a_process_with_a_nice_value_has_short_slices),
		cmocka_unit_test(signals_are_blocked_as_before_or_not_at_all),
		cmocka_unit_test(a_death_signal_ends_it_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
