/* SPDX-License-Identifier: Apache-2.0 */
/* test_clocks.c - due and skipped ticks, of clocks whose descriptors are no events. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/clocks.h"

#define HZ 4
#define PERIOD_NS (NSEC_PER_SEC / HZ)
#define LOOK_TICKS 8 /* of a clock that has no tick in so many periods it is known */
#define OFFLINE 8    /* CPUs that this machine does not have */
#define STOPPED_NS (100 * NSEC_PER_SEC)

static struct cpu_ticks ticks[CPU_TICKS_MAX];

/* Each clock ran for 1 3/4 periods before it was stopped; only a cgroup's event says so. */
static struct clocks make_clocks(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF) + OFFLINE;
	size_t len = (size_t)cpus;
	struct clocks clocks = {
		.fds = calloc(len, sizeof(int)),
		.run_ns = calloc(len, sizeof(uint64_t)),
		.past_ns = calloc(len, sizeof(uint64_t)),
		.seen_ticks = calloc(len, sizeof(uint64_t)),
		.opened = calloc(len, sizeof(uint32_t)),
		.ticks = ticks,
		.cpus_max = cpus,
		.prog_fd = -1,
		.cgroup_fd = -1,
		.hz = HZ,
		.looked_at_ns = STOPPED_NS,
		.stopped_ns = STOPPED_NS,
	};

	assert_true(clocks.fds && clocks.run_ns && clocks.past_ns && clocks.seen_ticks &&
		clocks.opened);
	for (int cpu = 0; cpu < cpus; cpu++) {
		clocks.fds[cpu] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(clocks.fds[cpu] >= 0);
		clocks.run_ns[cpu] = PERIOD_NS * 7 / 4;
		ticks[cpu & (CPU_TICKS_MAX - 1)].due_ns = STOPPED_NS + PERIOD_NS / 4;
	}
	return clocks;
}

static void each_cpu_of_a_cgroup_is_due_whole_periods_of_its_own(void **state)
{
	struct clocks clocks = make_clocks();
	struct clocks_time time;

	(void)state;
	clocks.cgroup_fd = STDIN_FILENO;
	clocks_read(&clocks, &time);
	assert_int_equal(time.cpus, clocks.cpus_max);
	assert_int_equal(time.due, clocks.cpus_max);
	clocks_close(&clocks);
}

/* No tick came since: not at the second period, nor at the third, which is over as well. */
static void what_was_due_at_the_end_and_did_not_come_is_skipped(void **state)
{
	struct clocks clocks = make_clocks();
	struct clocks_time time;

	(void)state;
	for (int cpu = 0; cpu < clocks.cpus_max; cpu++) {
		ticks[cpu & (CPU_TICKS_MAX - 1)].due_ns = STOPPED_NS - PERIOD_NS * 5 / 4;
	}
	clocks_read(&clocks, &time);
	assert_int_equal(time.skipped, 2 * clocks.cpus_max);
	assert_int_equal(clocks_follow(&clocks, true), 0);
	clocks_read(&clocks, &time);
	assert_int_equal(time.skipped, 2 * clocks.cpus_max);
	clocks_close(&clocks);
}

static void a_cpu_that_is_gone_skips_nothing_after_its_last_tick(void **state)
{
	struct clocks clocks = make_clocks();
	struct clocks_time time;

	(void)state;
	for (int cpu = 0; cpu < clocks.cpus_max; cpu++)
		ticks[cpu & (CPU_TICKS_MAX - 1)].due_ns = STOPPED_NS + PERIOD_NS * 9 / 4;
	assert_int_equal(clocks_follow(&clocks, true), 0);
	clocks_read(&clocks, &time);
	assert_int_equal(time.skipped, 0);
	clocks_close(&clocks);
}

/* Whether it can be opened again or not. */
static void of_a_clock_without_ticks_all_are_skipped(void **state)
{
	struct clocks clocks = make_clocks();
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct clocks_time time;

	(void)state;
	for (int cpu = 0; cpu < clocks.cpus_max; cpu++) {
		ticks[cpu & (CPU_TICKS_MAX - 1)].due_ns = now - PERIOD_NS * 37 / 4;
	}
	/* Those that are gone were there until then. */
	clocks.looked_at_ns = now - PERIOD_NS * LOOK_TICKS;
	clocks.running = true;
	clocks_follow(&clocks, true);
	clocks.running = false;
	clocks.stopped_ns = clock_ns(CLOCK_MONOTONIC);
	clocks_read(&clocks, &time);
	assert_int_equal(time.skipped, 2 * OFFLINE + 10 * (clocks.cpus_max - OFFLINE));
	clocks_close(&clocks);
}

static void closed_clocks_keep_their_whole_periods(void **state)
{
	struct clocks clocks = make_clocks();
	struct clocks_time time;

	(void)state;
	clocks.cgroup_fd = STDIN_FILENO;
	assert_int_equal(clocks_follow(&clocks, true), 0);
	clocks_read(&clocks, &time);
	assert_in_range(time.cpus, 1, clocks.cpus_max - OFFLINE);
	assert_int_equal(time.due, clocks.cpus_max);
	clocks_close(&clocks);
}

/* Time passes: the check that is armed is due. */
static void let_check_be_due(struct clocks *clocks)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	assert_in_range(clocks->check_ns, now, now + LOOK_TICKS * PERIOD_NS);
	clocks->looked_at_ns -= LOOK_TICKS * PERIOD_NS;
	clocks->check_ns = now;
}

static struct clocks make_running(void)
{
	struct clocks clocks = make_clocks();

	clocks.running = true;
	clocks.looked_at_ns = clock_ns(CLOCK_MONOTONIC);
	clocks.check_ns = CLOCK_NEVER_NS;
	return clocks;
}

static void without_a_change_clocks_are_left_alone(void **state)
{
	struct clocks clocks = make_running();
	uint64_t looked_at_ns = clocks.looked_at_ns;

	(void)state;
	assert_int_equal(clocks_follow(&clocks, false), 0);
	assert_true(clocks.check_ns == CLOCK_NEVER_NS);
	assert_true(clocks.looked_at_ns == looked_at_ns);
	clocks_close(&clocks);
}

static void after_a_change_clocks_that_tick_are_checked_once(void **state)
{
	struct clocks clocks = make_running();

	(void)state;
	assert_int_equal(clocks_follow(&clocks, true), 0);
	let_check_be_due(&clocks);
	for (int cpu = 0; cpu < clocks.cpus_max; cpu++)
		ticks[cpu & (CPU_TICKS_MAX - 1)].ticks++;
	assert_int_equal(clocks_follow(&clocks, false), 0);
	assert_true(clocks.check_ns == CLOCK_NEVER_NS);
	clocks_close(&clocks);
}

/* Whether they can be opened again or not. */
static void clocks_that_do_not_tick_are_checked_again(void **state)
{
	struct clocks clocks = make_running();

	(void)state;
	assert_int_equal(clocks_follow(&clocks, true), 0);
	for (int i = 0; i < 3; i++) {
		let_check_be_due(&clocks);
		clocks_follow(&clocks, false);
	}
	let_check_be_due(&clocks);
	clocks_close(&clocks);
}

static void where_nobody_reports_changes_clocks_are_checked_for_ever(void **state)
{
	struct clocks clocks = make_running();

	(void)state;
	clocks.unwatched = true;
	clocks.check_ns = clocks.looked_at_ns;
	for (int i = 0; i < 3; i++) {
		for (int cpu = 0; cpu < clocks.cpus_max; cpu++)
			ticks[cpu & (CPU_TICKS_MAX - 1)].ticks++;
		assert_int_equal(clocks_follow(&clocks, false), 0);
		let_check_be_due(&clocks);
	}
	clocks_close(&clocks);
}

/* The read is what waits. */
static void ticks_are_waited_for_on_each_cpu_whose_clock_runs(void **state)
{
	struct clocks clocks = make_clocks();

	(void)state;
	for (int cpu = 0; cpu < clocks.cpus_max; cpu++) {
		close(clocks.fds[cpu]);
		clocks.fds[cpu] = cpu == 1 ? -1 : eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	}
	for (int running = 0; running <= 1; running++) {
		clocks.running = running;
		clocks_wait_for_ticks(&clocks);
		for (int cpu = 0; cpu < clocks.cpus_max; cpu++) {
			struct pollfd unread = { .fd = clocks.fds[cpu], .events = POLLIN };

			assert_int_equal(poll(&unread, 1, 0), cpu != 1 && !running);
		}
	}
	clocks_close(&clocks);
}

/* A recording that writes its last profile stops them again. */
static void clocks_that_were_stopped_keep_the_time_of_their_end(void **state)
{
	struct clocks clocks = make_clocks();

	(void)state;
	clocks_stop(&clocks);
	assert_int_equal(clocks.stopped_ns, STOPPED_NS);
	clocks.running = true;
	clocks_stop(&clocks);
	assert_int_not_equal(clocks.stopped_ns, STOPPED_NS);
	clocks_close(&clocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_were_stopped_keep_the_time_of_their_end),
		cmocka_unit_test(ticks_are_waited_for_on_each_cpu_whose_clock_runs),
		cmocka_unit_test(each_cpu_of_a_cgroup_is_due_whole_periods_of_its_own),
		cmocka_unit_test(what_was_due_at_the_end_and_did_not_come_is_skipped),
		cmocka_unit_test(a_cpu_that_is_gone_skips_nothing_after_its_last_tick),
		cmocka_unit_test(of_a_clock_without_ticks_all_are_skipped),
		cmocka_unit_test(closed_clocks_keep_their_whole_periods),
		cmocka_unit_test(without_a_change_clocks_are_left_alone),
		cmocka_unit_test(after_a_change_clocks_that_tick_are_checked_once),
		cmocka_unit_test(clocks_that_do_not_tick_are_checked_again),
		cmocka_unit_test(where_nobody_reports_changes_clocks_are_checked_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
