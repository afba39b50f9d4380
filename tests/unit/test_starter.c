/* SPDX-License-Identifier: Apache-2.0 */
/* test_starter.c - what the process that starts workers does for its owner and for its guests. That
 * it may more than we is for machines on which only root may open a clock (tools/check-vm).
 * LINK: -Wl,--wrap=waitid,--wrap=kill */
#include "unit.h"
#include "ask_order.h"
#include "unseen_stops.h"

#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/starter.h"
#include "wire/fetch_proto.h"
#include "worker/users.h"

static const struct cpu_clock second = { .period_ns = NSEC_PER_SEC, .cpu = 0, .cgroup_fd = -1 };

static const struct starter_duties clocks = { .clocks = true };

/* ---- captures ------------------------------------------------------------------------------- */

/* So many bytes are no question for a clock. */
static int lie(int size)
{
	char bytes[4000] = "";

	return send(3, bytes, (size_t)size, MSG_NOSIGNAL) != size ||
		recv(3, bytes, sizeof(bytes), 0) > 0;
}

/* In the place of `stoker record`. */
static int capture(void *ctx, const void *wanted, bool has_clocks)
{
	struct starter starter = STARTER_INIT;
	int fd = -1, err;

	(void)ctx;
	signal(SIGPIPE, SIG_DFL);
	if (strcmp(wanted, "user") == 0)
		return geteuid() >= USERS_CAPTURE && geteuid() < USERS_CAPTURE + USERS_CHOICES &&
				caps_permitted() == CAPS_BIT(CAP_SYSLOG) && getgroups(0, NULL) == 0
			? 7
			: 1;
	if (strcmp(wanted, "print") == 0)
		return write(1, "out", 3) == 3 && write(2, "words", 5) == 5 ? 7 : 1;
	if (strncmp(wanted, "lie", 3) == 0)
		return lie(atoi((const char *)wanted + 3));
	starter.child.fd = has_clocks ? 3 : -1;
	if (strcmp(wanted, "clock") == 0)
		err = starter_clock(&starter, &second, &fd);
	else
		err = (int)recv(3, &fd, sizeof(fd), 0); /* until it is let go */
	return write(1, &err, sizeof(err)) == sizeof(err) ? 0 : 1;
}

static const struct starter_duties captures = { .capture = capture };

/* Starts one whose output is *out; it is the caller's child. */
static int start_capture(struct starter *starter, const char *word, int out, struct child *child)
{
	_cleanup_fd_ int messages = -1;

	return starter_capture(starter, word, strlen(word) + 1, false, out, child, &messages);
}

static int end_of(struct child *child)
{
	struct child_end end;

	assert_int_equal(child_wait(child, -1, &end), 0);
	assert_true(WIFEXITED(end.status));
	return WEXITSTATUS(end.status);
}

static void was_killed(struct child *child)
{
	struct child_end end;

	assert_int_equal(child_wait(child, -1, &end), 0);
	assert_true(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL);
}

/* What a capture wrote. */
static int number_in(int file)
{
	int number = 1;

	assert_int_equal(pread(file, &number, sizeof(number), 0), sizeof(number));
	return number;
}

static void a_capture_is_our_child_and_has_two_files(void **state)
{
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int out = memfd_create("out", MFD_CLOEXEC), messages = -1;
	struct child child = CHILD_INIT;
	char text[8] = "";

	(void)state;
	assert_int_equal(starter_open(&starter, &captures), 0);
	assert_int_equal(starter_capture(&starter, "print", 6, false, out, &child, &messages), 0);
	assert_int_equal(end_of(&child), 7);
	assert_int_equal(pread(out, text, sizeof(text), 0), 3);
	assert_memory_equal(text, "out", 3);
	assert_int_equal(pread(messages, text, sizeof(text), 0), 5);
	assert_memory_equal(text, "words", 5);
	starter_close(&starter);
}

/* And the capabilities of its duty, which its owner does not need to have. */
static void a_capture_has_a_user_of_its_own(void **state)
{
	const struct starter_duties duties = { .capture = capture, .caps = CAPS_BIT(CAP_SYSLOG) };
	const uint64_t needed = CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_KILL) |
		CAPS_BIT(CAP_SYSLOG);
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int out = memfd_create("out", MFD_CLOEXEC);
	struct child child = CHILD_INIT;

	(void)state;
	if (geteuid() != 0 || (caps_permitted() & needed) != needed)
		skip();
	assert_int_equal(starter_open(&starter, &duties), 0);
	assert_int_equal(start_capture(&starter, "user", out, &child), 0);
	assert_int_equal(end_of(&child), 7);
	/* Whoever may not kill it asks the starter. */
	assert_int_equal(start_capture(&starter, "wait", out, &child), 0);
	assert_int_equal(child_wait(&child, 0, NULL), -EAGAIN);
	starter_kill(&starter, child.pid);
	assert_int_equal(child_wait(&child, -1, NULL), 0);
	starter_close(&starter);
}

static void captures_may_ask_for_clocks_as_long_as_there_is_room(void **state)
{
	struct starter starter = STARTER_INIT;
	struct child waiting[ORDERS_GUESTS_MAX + 1], child = CHILD_INIT;
	_cleanup_fd_ int ours = -1, out = memfd_create("out", MFD_CLOEXEC);
	_cleanup_fd_ int refused = memfd_create("refused", MFD_CLOEXEC);
	int err = cpu_clock_open(&second, &ours);

	(void)state;
	assert_int_equal(starter_open(&starter, &captures), 0);
	assert_int_equal(start_capture(&starter, "clock", out, &child), 0);
	assert_int_equal(end_of(&child), 0);
	assert_int_equal(number_in(out), err);
	for (int i = 0; i < ORDERS_GUESTS_MAX; i++)
		assert_int_equal(start_capture(&starter, "wait", out, &waiting[i]), 0);
	assert_int_equal(start_capture(&starter, "clock", refused, &child), 0);
	assert_int_equal(end_of(&child), 0);
	assert_int_equal(number_in(refused), -EPIPE);
	/* None outlives the starter's owner. */
	starter_close(&starter);
	for (int i = 0; i < ORDERS_GUESTS_MAX; i++)
		was_killed(&waiting[i]);
}

/* It is served no more, and the others are. */
static void a_capture_that_asks_for_something_else_is_dropped(void **state)
{
	static const size_t sizes[] = { 1, 4, 40, 48, sizeof(struct starter_order), 4000 };
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int out = memfd_create("out", MFD_CLOEXEC);
	struct child child = CHILD_INIT, waiting = CHILD_INIT;

	(void)state;
	assert_int_equal(starter_open(&starter, &captures), 0);
	assert_int_equal(start_capture(&starter, "wait", out, &waiting), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char word[16];

		snprintf(word, sizeof(word), "lie%zu", sizes[i]);
		assert_int_equal(start_capture(&starter, word, out, &child), 0);
		assert_int_equal(end_of(&child), 0);
	}
	assert_int_equal(child_wait(&waiting, 0, NULL), -EAGAIN);
	starter_close(&starter);
	was_killed(&waiting);
}

/* ---- what was not switched on --------------------------------------------------------------- */

/* An owner that was taken over asks for it. False: it is served no more. */
static bool is_obeyed(const struct starter_duties *duties, uint32_t kind, const char *program)
{
	struct starter_order order = {
		.kind = kind, .period_ns = NSEC_PER_SEC, .signal = SIGKILL
	};
	_cleanup_fd_ int out = memfd_create("out", MFD_CLOEXEC), came = -1;
	struct starter starter = STARTER_INIT;
	struct starter_answer answer = { 0 };
	int err;

	assert_int_equal(starter_open(&starter, duties), 0);
	snprintf(order.argument, sizeof(order.argument), "%s", program);
	memcpy(order.wanted, "print", 6);
	err = ask_order(starter.child.fd, &order, sizeof(order),
		kind == STARTER_CAPTURE ? out : -1, &answer, sizeof(answer), &came);
	if (answer.pid > 0)
		assert_int_equal(waitpid(answer.pid, NULL, 0), answer.pid);
	/* One that does not serve us any more ends. */
	if (err < 0)
		assert_int_equal(child_wait(&starter.child, -1, NULL), 0);
	starter_close(&starter);
	return err == 0;
}

static void an_order_that_was_not_switched_on_is_refused(void **state)
{
	static const struct starter_duties worker = { .program = "no-such", .clocks = true },
					   server = { .program = "no-such" },
					   fetches = { .program = "no-such", .fetchers = true },
					   nothing = { 0 };
	static const struct {
		const char *name;
		const struct starter_duties *duties;
		bool obeyed[STARTER_ORDERS];
	} rows[] = {
		/* start, kill, clock, capture, pace */
		{ "of workers", &worker, { true, true, true, false, true } },
		{ "of a server", &server, { true, true, false, false, true } },
		{ "of what fetches", &fetches, { true, true, false, false, true } },
		{ "of captures", &captures, { false, true, false, true, false } },
		{ "of clocks", &clocks, { false, false, true, false, false } },
		{ "of nothing", &nothing, { false, false, false, false, false } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct starter_duties *duties = rows[i].duties;

		for (uint32_t kind = 0; kind < STARTER_ORDERS; kind++) {
			print_message("%s: %u\n", rows[i].name, kind);
			assert_int_equal(is_obeyed(duties, kind, "no-such"), rows[i].obeyed[kind]);
		}
		assert_false(is_obeyed(duties, STARTER_ORDERS, "no-such"));
		assert_int_equal(
			is_obeyed(duties, STARTER_START, FETCH_ARGUMENT), duties->fetchers);
		/* Our other programs would have the starter's rights. */
		assert_false(is_obeyed(duties, STARTER_START, "daemon"));
		assert_false(is_obeyed(duties, STARTER_START, ""));
	}
}

/* The system calls of a starter, as what it starts inherits them. */
static int try_calls(void *ctx, const void *wanted, bool has_clocks)
{
	union bpf_attr attr = { 0 };
	int out[2];

	(void)ctx;
	(void)wanted;
	(void)has_clocks;
	out[0] = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) < 0 ? -errno : 0;
	out[1] = syscall(SYS_kexec_load, 0, 0, NULL, 0) < 0 ? -errno : 0;
	return write(1, out, sizeof(out)) == sizeof(out) ? 0 : 1;
}

static void a_capture_has_the_calls_that_loading_takes_and_not_others(void **state)
{
	const struct starter_duties trying = { .capture = try_calls };
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int out = memfd_create("out", MFD_CLOEXEC);
	struct child child = CHILD_INIT;
	int got[2] = { 1, 1 };

	(void)state;
	assert_int_equal(starter_open(&starter, &trying), 0);
	assert_int_equal(start_capture(&starter, "", out, &child), 0);
	assert_int_equal(end_of(&child), 0);
	assert_int_equal(pread(out, got, sizeof(got), 0), sizeof(got));
	/* The kernel judges the first, by capabilities that were not given or by what is asked. */
	assert_int_equal(got[0], geteuid() == 0 ? -EINVAL : -EPERM);
	assert_int_equal(got[1], -EPERM);
	starter_close(&starter);
}

/* ---- clocks --------------------------------------------------------------------------------- */

static void a_clock_comes_as_if_we_had_opened_it(void **state)
{
	struct starter starter = STARTER_INIT;
	_cleanup_fd_ int ours = -1, given = -1;
	struct cpu_clock wrong = second;
	int err = cpu_clock_open(&second, &ours);

	(void)state;
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
	assert_int_equal(starter_open(&starter, &clocks), 0);
	assert_int_equal(starter_clock(&starter, &second, &given), err);
	assert_int_equal(given >= 0, err == 0);
	wrong.period_ns = CPU_CLOCK_PERIOD_MIN_NS - 1;
	assert_int_equal(starter_clock(&starter, &wrong, &given), -EINVAL);
	wrong = second;
	wrong.cpu = -1;
	assert_int_equal(starter_clock(&starter, &wrong, &given), -EINVAL);
	/* What reports code does not tick. */
	wrong = second;
	wrong.code = true;
	assert_int_equal(starter_clock(&starter, &wrong, &given), -EINVAL);
	wrong.period_ns = 0;
	fd_close(&given);
	assert_int_equal(starter_clock(&starter, &wrong, &given), err);
	assert_int_equal(given >= 0, err == 0);
	/* What goes with it is a file, and no cgroup's folder. */
	wrong = second;
	wrong.cgroup_fd = starter.child.fd;
	assert_true(starter_clock(&starter, &wrong, &given) < 0);
	assert_true(starter.child.pid > 0);
	starter_close(&starter);
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
}

/* We may have rights that it gave up, so it has no stand-in. */
static void what_a_lost_starter_did_is_done_by_nobody(void **state)
{
	struct starter starter = STARTER_INIT;
	struct child child = CHILD_INIT;
	_cleanup_fd_ int given = -1;

	(void)state;
	assert_int_equal(starter_open(&starter, &clocks), 0);
	assert_false(starter_lost(&starter));
	assert_int_equal(kill(starter.child.pid, SIGKILL), 0);
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
	assert_int_equal(child.pid, 0);
	assert_true(starter_lost(&starter));
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
	starter_close(&starter);
	/* Nobody asks for anything, and it is noticed. */
	starter = (struct starter)STARTER_INIT;
	assert_int_equal(starter_open(&starter, &clocks), 0);
	assert_int_equal(kill(starter.child.pid, SIGKILL), 0);
	while (!starter_lost(&starter))
		;
	assert_int_equal(starter.child.fd, -1);
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
}

/* Its owner samples, and must not wait for it: not for an answer, and not for its end. */
static void a_starter_that_does_not_answer_is_lost(void **state)
{
	struct starter starter = STARTER_INIT;
	struct child child = CHILD_INIT;
	_cleanup_fd_ int given = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(starter_open(&starter, &clocks), 0);
	pid = starter.child.pid;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(starter_clock(&starter, &second, &given), -EPIPE);
	assert_true(starter_lost(&starter));
	assert_int_equal(starter_start(&starter, "worker", &child), -EPIPE);
	waitpid(pid, NULL, 0); /* killed */
	starter_close(&starter);
}

static void a_starter_that_is_stopped_goes_on(void **state)
{
	static const struct starter_duties starts = { .program = "worker", .openers = true };
	struct starter starter = STARTER_INIT;
	struct child child = CHILD_INIT;

	(void)state;
	assert_int_equal(starter_open(&starter, &starts), 0);
	stops = STOPS_SEEN;
	assert_int_equal(kill(starter.child.pid, SIGSTOP), 0);
	assert_int_equal(starter_opener(&starter, &child), 0);
	assert_false(starter_lost(&starter));
	assert_int_equal(starter.stopped, 1);
	assert_false(starter_wake(&starter, &child));
	assert_int_equal(kill(child.pid, SIGSTOP), 0);
	while (!starter_wake(&starter, &child))
		sched_yield();
	assert_int_equal(starter.stopped, 2);
	assert_false(starter_wake(&starter, &child));
	starter_kill(&starter, child.pid);
	child_wait(&child, -1, NULL);
	child_leave(&child);
	starter_close(&starter);
	stops = STOPS_UNSEEN;
}

/* ---- pace ----------------------------------------------------------------------------------- */

static int nice_of(pid_t pid)
{
	errno = 0;
	return getpriority(PRIO_PROCESS, (id_t)pid);
}

static void what_it_starts_runs_before_others_until_it_is_told(void **state)
{
	static const struct starter_duties waiting = { .program = "waits" };
	struct starter starter = STARTER_INIT;
	struct child first = CHILD_INIT, second_child = CHILD_INIT;

	(void)state;
	if (!(caps_permitted() & CAPS_BIT(CAP_SYS_NICE)))
		skip();
	assert_int_equal(starter_open(&starter, &waiting), 0);
	assert_int_equal(starter_start(&starter, "waits", &first), 0);
	assert_int_equal(nice_of(first.pid), SAMPLING_NICE);
	starter_pace(&starter, true);
	assert_int_equal(starter_start(&starter, "waits", &second_child), 0);
	assert_int_equal(nice_of(starter.child.pid), 0);
	assert_int_equal(nice_of(first.pid), 0);
	assert_int_equal(nice_of(second_child.pid), 0);
	starter_pace(&starter, false);
	assert_int_equal(nice_of(starter.child.pid), SAMPLING_NICE);
	assert_int_equal(nice_of(first.pid), SAMPLING_NICE);
	assert_int_equal(nice_of(second_child.pid), SAMPLING_NICE);
	child_close(&first, NULL);
	child_close(&second_child, NULL);
	starter_close(&starter);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_comes_as_if_we_had_opened_it),
		cmocka_unit_test(a_capture_is_our_child_and_has_two_files),
		cmocka_unit_test(a_capture_has_a_user_of_its_own),
		cmocka_unit_test(captures_may_ask_for_clocks_as_long_as_there_is_room),
		cmocka_unit_test(a_capture_that_asks_for_something_else_is_dropped),
		cmocka_unit_test(an_order_that_was_not_switched_on_is_refused),
		cmocka_unit_test(a_capture_has_the_calls_that_loading_takes_and_not_others),
		cmocka_unit_test(what_it_starts_runs_before_others_until_it_is_told),
		cmocka_unit_test(what_a_lost_starter_did_is_done_by_nobody),
		cmocka_unit_test(a_starter_that_does_not_answer_is_lost),
		cmocka_unit_test(a_starter_that_is_stopped_goes_on),
	};

	/* As `stoker no-such`. */
	if (argc == 2 && (strcmp(argv[1], "no-such") == 0 || strcmp(argv[1], FETCH_ARGUMENT) == 0))
		return 0;
	/* As `stoker waits`: until its socket closes. */
	if (argc == 2 && strcmp(argv[1], "waits") == 0)
		return recv(3, &argc, sizeof(argc), 0) > 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
