/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline.c - ticks that are told by id become a run in the order of time. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "sampler/timeline.h"

#define COUNTS 8

struct fixture {
	struct timeline timeline;
	uint64_t counts[COUNTS];
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	timeline_done(&f->timeline);
	return 0;
}

static uint64_t *count_at(void *ctx, uint32_t index)
{
	struct fixture *f = ctx;

	assert_true(index < COUNTS);
	return &f->counts[index];
}

static void told(struct fixture *f, uint32_t id, uint32_t cpu, uint64_t ns)
{
	struct event_tick event = { .id = id, .cpu = cpu, .time_ns = ns };

	assert_int_equal(timeline_tick(&f->timeline, &event), 0);
}

static uint64_t resolve(struct fixture *f, bool last)
{
	return timeline_resolve(&f->timeline, last, &(struct timeline_counts){ count_at, f });
}

static void expect(struct fixture *f, const uint64_t *times, size_t len)
{
	assert_int_equal(f->timeline.due, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(f->timeline.ticks.data[i].time_ns, times[i]);
}

static void ticks_of_all_cpus_are_merged_by_time(void **state)
{
	struct fixture *f = *state;

	told(f, 70, 0, 30);
	told(f, 70, 0, 50);
	told(f, 71, 1, 20);
	told(f, 71, 1, 40);
	timeline_key(&f->timeline, 70, 2);
	timeline_key(&f->timeline, 71, 3);
	assert_int_equal(resolve(f, false), 0);
	timeline_cut(&f->timeline, UINT64_MAX);
	expect(f, (uint64_t[]){ 20, 30, 40, 50 }, 4);
	assert_int_equal(f->timeline.ticks.data[0].count, 3);
	assert_int_equal(f->timeline.ticks.data[1].count, 2);
}

static void what_is_after_the_cut_is_of_the_next_run_and_order_holds(void **state)
{
	struct fixture *f = *state;

	timeline_key(&f->timeline, 70, 0);
	told(f, 70, 0, 10);
	told(f, 70, 0, 30);
	assert_int_equal(resolve(f, false), 0);
	timeline_cut(&f->timeline, 20);
	expect(f, (uint64_t[]){ 10 }, 1);
	timeline_next(&f->timeline);
	assert_int_equal(timeline_len(&f->timeline), 1);
	/* Told late: before the cut, and before what was written. */
	timeline_key(&f->timeline, 80, 0);
	told(f, 80, 1, 5);
	assert_int_equal(resolve(f, true), 0);
	timeline_cut(&f->timeline, UINT64_MAX);
	expect(f, (uint64_t[]){ 20, 30 }, 2);
}

static void a_key_may_come_with_the_next_drain_but_not_later(void **state)
{
	struct fixture *f = *state;

	told(f, 70, 0, 10);
	told(f, 71, 0, 11);
	assert_int_equal(resolve(f, false), 0);
	told(f, 72, 0, 12);
	timeline_key(&f->timeline, 70, 0);
	assert_int_equal(resolve(f, false), 1);
	assert_int_equal(timeline_len(&f->timeline), 2);
	assert_int_equal(resolve(f, true), 1);
	timeline_cut(&f->timeline, UINT64_MAX);
	expect(f, (uint64_t[]){ 10 }, 1);
}

static void ticks_over_the_limit_are_counted(void **state)
{
	struct fixture *f = *state;

	timeline_key(&f->timeline, 70, 4);
	for (uint64_t i = 0; i < TIMELINE_TICKS_MAX; i++)
		told(f, 70, 0, i);
	told(f, 70, 0, 1);
	told(f, 70, 0, 2);
	told(f, 99, 0, 3);
	assert_int_equal(resolve(f, false), 0);
	assert_int_equal(f->counts[4], 2);
	assert_int_equal(f->timeline.dropped, 2);
	assert_int_equal(timeline_len(&f->timeline), TIMELINE_TICKS_MAX);
	assert_int_equal(resolve(f, true), 1);
}

static void times_are_told_to_a_hundredth_of_the_period(void **state)
{
	static const struct {
		uint32_t hz;
		uint64_t ns;
	} rows[] = { { 1, 10000000 }, { 49, 100000 }, { 99, 100000 }, { 999, 10000 },
		{ 1000, 10000 }, { 10000, 1000 }, { 1000000, 10 } };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(timeline_unit_ns(rows[i].hz), rows[i].ns);
	f->timeline.unit_ns = 1000;
	timeline_key(&f->timeline, 70, 0);
	told(f, 70, 0, 123999);
	resolve(f, true);
	timeline_cut(&f->timeline, UINT64_MAX);
	expect(f, (uint64_t[]){ 123000 }, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ticks_of_all_cpus_are_merged_by_time),
		TEST(what_is_after_the_cut_is_of_the_next_run_and_order_holds),
		TEST(a_key_may_come_with_the_next_drain_but_not_later),
		TEST(ticks_over_the_limit_are_counted),
		TEST(times_are_told_to_a_hundredth_of_the_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
