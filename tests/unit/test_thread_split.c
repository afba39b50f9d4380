/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_split.c - the four shares of a thread's time between two visits. */
#include "unit.h"

#include "base/own.h"
#include "waiting/thread_split.h"

#define MS 1000000ULL
#define WRAP (UINT64_MAX - 5 * MS + 1) /* 5 ms before a counter of ns wraps */

struct row {
	const char *name;
	struct thread_point before, after;
	double taken;
	uint64_t running_ms, runnable_ms, blocked_ms, other_ms;
};

/* now, run, delay (ms), voluntary, involuntary, class */
#define AT(now, run, delay, v, iv, class)                                  \
	{                                                                  \
		(now) * MS, (run)*MS, (delay)*MS, v, iv, class, true, 0, 0 \
	}
#define NO_DELAY(now, run, v, iv, class)                           \
	{                                                          \
		(now) * MS, (run)*MS, 0, v, iv, class, false, 0, 0 \
	}

static const struct row rows[] = {
	{ "asleep all the time", AT(0, 7, 3, 9, 1, THREAD_SLEEPING),
		AT(1000, 7, 3, 9, 1, THREAD_SLEEPING), 0.5, 0, 0, 1000, 0 },
	{ "in a disk's queue all the time", AT(0, 7, 3, 9, 1, THREAD_DISK),
		AT(1000, 7, 3, 9, 1, THREAD_DISK), 0, 0, 0, 1000, 0 },
	{ "ran all the time, and lost 40 ms", AT(0, 0, 0, 5, 5, THREAD_RUNNING),
		AT(1000, 960, 0, 5, 5, THREAD_RUNNING), 0, 960, 0, 0, 40 },
	{ "never waited, though it was preempted", AT(0, 0, 0, 5, 5, THREAD_RUNNING),
		AT(1000, 480, 500, 5, 90, THREAD_RUNNABLE), 0, 480, 500, 0, 20 },
	{ "throttled all the time", AT(0, 0, 100, 5, 5, THREAD_THROTTLED),
		AT(1000, 0, 1100, 5, 5, THREAD_THROTTLED), 0, 0, 1000, 0, 0 },
	{ "starved all the time", AT(0, 0, 100, 5, 5, THREAD_RUNNABLE),
		AT(1000, 0, 1100, 5, 5, THREAD_RUNNABLE), 0, 0, 1000, 0, 0 },
	{ "waits and works", AT(0, 0, 0, 5, 5, THREAD_SLEEPING),
		AT(1000, 100, 50, 15, 5, THREAD_RUNNING), 0, 100, 50, 850, 0 },
	{ "waits and works, and CPUs lose a tenth", AT(0, 0, 0, 5, 5, THREAD_SLEEPING),
		AT(1000, 100, 50, 15, 5, THREAD_RUNNING), 0.1, 100, 50, 840, 10 },
	{ "more is taken than there is", AT(0, 0, 0, 5, 5, THREAD_SLEEPING),
		AT(1000, 900, 95, 15, 5, THREAD_RUNNING), 0.1, 900, 95, 0, 5 },
	{ "began to wait, and its switch is the proof", AT(0, 0, 0, 5, 5, THREAD_RUNNING),
		AT(1000, 100, 0, 6, 5, THREAD_RUNNING), 0, 100, 0, 900, 0 },
	{ "a tick late before", AT(0, 0, 0, 5, 5, THREAD_RUNNING),
		AT(1000, 1004, 0, 5, 5, THREAD_RUNNING), 0, 1000, 0, 0, 0 },
	{ "waits for a CPU are not counted", NO_DELAY(0, 0, 5, 5, THREAD_SLEEPING),
		NO_DELAY(1000, 100, 9, 5, THREAD_SLEEPING), 0, 100, 0, 0, 900 },
	{ "nor needed, if it slept", NO_DELAY(0, 0, 5, 5, THREAD_SLEEPING),
		NO_DELAY(1000, 0, 5, 5, THREAD_SLEEPING), 0, 0, 0, 1000, 0 },
};

static void a_threads_time_is_split_as_its_counters_prove(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct thread_split s;

		if (thread_split(&r->before, &r->after, r->taken, &s) != THREAD_SPLIT_OK)
			fail_msg("%s: stepped", r->name);
		if (s.running_ns != r->running_ms * MS || s.runnable_ns != r->runnable_ms * MS ||
			s.blocked_ns != r->blocked_ms * MS || s.other_ns != r->other_ms * MS)
			fail_msg("%s: %llu %llu %llu %llu", r->name,
				(unsigned long long)s.running_ns, (unsigned long long)s.runnable_ns,
				(unsigned long long)s.blocked_ns, (unsigned long long)s.other_ns);
		assert_int_equal(
			s.running_ns + s.runnable_ns + s.blocked_ns + s.other_ns, s.wall_ns);
	}
}

static void counters_that_wrap_are_counters_that_grow(void **state)
{
	struct thread_point before = { 0, WRAP, WRAP, UINT64_MAX, UINT64_MAX, THREAD_SLEEPING, true,
		0, 0 };
	struct thread_point after = { 1000 * MS, 15 * MS, 25 * MS, 1, 2, THREAD_SLEEPING, true, 0,
		0 };
	struct thread_split s;

	(void)state;
	assert_int_equal(thread_split(&before, &after, 0, &s), THREAD_SPLIT_OK);
	assert_int_equal(s.running_ns, 20 * MS);
	assert_int_equal(s.runnable_ns, 30 * MS);
}

static void what_steps_is_refused(void **state)
{
	static const struct {
		const char *name;
		struct thread_point after;
	} steps[] = {
		{ "clock", AT(500, 300, 300, 9, 9, THREAD_RUNNING) },
		{ "clock that stands", AT(1000, 300, 300, 9, 9, THREAD_RUNNING) },
		{ "running", AT(2000, 200, 300, 9, 9, THREAD_RUNNING) },
		{ "running, ahead", AT(2000, 1500, 300, 9, 9, THREAD_RUNNING) },
		{ "runnable", AT(2000, 300, 200, 9, 9, THREAD_RUNNING) },
		{ "runnable, ahead", AT(2000, 300, 1500, 9, 9, THREAD_RUNNING) },
		{ "voluntary", AT(2000, 300, 300, 8, 9, THREAD_RUNNING) },
		{ "involuntary", AT(2000, 300, 300, 9, 8, THREAD_RUNNING) },
	};
	const struct thread_point before = AT(1000, 300, 300, 9, 9, THREAD_RUNNING);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct thread_split s = { .wall_ns = 77 };

		if (thread_split(&before, &steps[i].after, 0, &s) != THREAD_SPLIT_STEPPED)
			fail_msg("%s: accepted", steps[i].name);
		assert_int_equal(s.wall_ns, 77);
	}
}

/* The scheduler's clock is 1,000 ms behind here. */
static void what_has_not_ended_counts_up_to_the_visit(void **state)
{
	struct thread_record r = { .now_ns = 5000 * MS,
		.run_ns = 10 * MS,
		.delay_ns = 20 * MS,
		.class = THREAD_RUNNABLE,
		.queued_ns = 3900 * MS,
		.arrived_ns = 3000 * MS };

	(void)state;
	assert_int_equal(thread_point_of(&r, 1000 * MS).delay_ns, 120 * MS);
	assert_int_equal(thread_point_of(&r, 1000 * MS).run_ns, 10 * MS);
	r.class = THREAD_RUNNING;
	r.queued_ns = 0;
	r.updated_ns = 3997 * MS;
	assert_int_equal(thread_point_of(&r, 1000 * MS).run_ns, 13 * MS);
	r.arrived_ns = 3999 * MS; /* it got the CPU after that update */
	assert_int_equal(thread_point_of(&r, 1000 * MS).run_ns, 11 * MS);
	r.updated_ns = 0; /* not known */
	assert_int_equal(thread_point_of(&r, 1000 * MS).run_ns, 10 * MS);
	r.updated_ns = r.arrived_ns = 4100 * MS; /* after the visit: no time has passed */
	assert_int_equal(thread_point_of(&r, 1000 * MS).run_ns, 10 * MS);
}

static void starvation_is_a_part_of_the_time_that_a_cpu_was_wanted(void **state)
{
	(void)state;
	assert_true(thread_split_starved_percent(
			    &(struct thread_split){ 1000, 60, 30, 900, 10, 0 }) == 30);
	assert_true(thread_split_starved_percent(
			    &(struct thread_split){ 1000, 0, 0, 1000, 0, 0 }) == 0);
}

/* Two threads of one cgroup, at two visits, and then one that came from another cgroup. */
static void a_sum_has_the_time_of_its_quota_once(void **state)
{
	const uint64_t of_threads[2][2] = { { 40, 40 }, { 10, 30 } };
	struct thread_point before = { .now_ns = 0, .quota = 7, .throttled_ns = 500 };
	struct thread_point after = { .now_ns = 1000 * MS, .quota = 7, .throttled_ns = 540 };
	struct thread_split sum = { 0 }, last, split;

	(void)state;
	for (size_t visit = 0; visit < 2; visit++) {
		last = (struct thread_split){ 0 };
		for (size_t i = 0; i < 2; i++)
			thread_split_throttle(&sum, &last, of_threads[visit][i]);
	}
	assert_int_equal(sum.throttled_ns, 70);
	assert_int_equal(last.throttled_ns, 30);
	assert_int_equal(thread_split(&before, &after, 0, &split), THREAD_SPLIT_OK);
	assert_int_equal(split.throttled_ns, 40);
	before.quota = 8;
	assert_int_equal(thread_split(&before, &after, 0, &split), THREAD_SPLIT_OK);
	assert_int_equal(split.throttled_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_threads_time_is_split_as_its_counters_prove),
		cmocka_unit_test(counters_that_wrap_are_counters_that_grow),
		cmocka_unit_test(what_steps_is_refused),
		cmocka_unit_test(what_has_not_ended_counts_up_to_the_visit),
		cmocka_unit_test(a_sum_has_the_time_of_its_quota_once),
		cmocka_unit_test(starvation_is_a_part_of_the_time_that_a_cpu_was_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
