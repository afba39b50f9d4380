/* SPDX-License-Identifier: Apache-2.0 */
/* test_slice.c - parts of profiles of different rates in one: whose they are, and what they weigh.
 */
#include "unit.h"

#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "profile/slice.h"

#define BEGIN_NS (100 * NSEC_PER_SEC)

/* Ticks of two containers in turn, hz of them a second, from BEGIN_NS + since on. */
static void make(struct profile *p, uint32_t hz, uint64_t since_ns, uint32_t ticks)
{
	static const char *const names[] = { "web", "db" };

	assert_int_equal(profile_init(p), 0);
	p->kinds[0].period_ns = NSEC_PER_SEC / hz;
	p->start_tick_ns = BEGIN_NS + since_ns;
	for (uint32_t i = 1; i <= ticks; i++) {
		struct profile_labels labels = { 0 };
		struct profile_frame frame = { 0 };
		uint32_t stack, id;

		assert_int_equal(
			profile_labels_text(p, &labels, PROFILE_KEY_CONTAINER, names[i % 2]), 0);
		assert_int_equal(profile_string(p, "f", &frame.name), 0);
		assert_int_equal(profile_frame(p, &frame, &id), 0);
		assert_int_equal(profile_stack(p, &id, 1, &stack), 0);
		assert_int_equal(profile_labels(p, &labels, &id), 0);
		assert_int_equal(profile_tick(p, stack, id, 0,
					 p->start_tick_ns + i * p->kinds[0].period_ns),
			0);
	}
}

static void a_tick_becomes_as_many_as_it_stands_for(void **state)
{
	static const struct {
		uint32_t low, high, ticks;
		uint64_t want;
	} rows[] = {
		{ 19, 199, 190, 1990 },
		{ 10, 999, 100, 9990 },
		{ 99, 99, 500, 500 },
		{ 199, 19, 1990, 190 },
		{ 1, 9999, 3, 29997 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile low, out;
		struct slice slice = { .until_ns = UINT64_MAX,
			.period_ns = NSEC_PER_SEC / rows[i].high };
		uint64_t total;

		make(&low, rows[i].low, 0, rows[i].ticks);
		assert_int_equal(profile_init(&out), 0);
		slice.since_ns = BEGIN_NS;
		assert_int_equal(profile_add_slice(&low, &slice, &out), 0);
		total = profile_total(&out);
		assert_int_equal(slice.taken, rows[i].ticks);
		assert_int_equal(out.ticks.len, total);
		if (total + 1 < rows[i].want || total > rows[i].want + 1)
			fail_msg("row %zu: %llu", i, (unsigned long long)total);
	}
}

static void they_lie_in_the_period_before_the_tick(void **state)
{
	_cleanup_(profile_done) struct profile low, out;
	struct slice slice = { .since_ns = BEGIN_NS + NSEC_PER_SEC / 4,
		.until_ns = UINT64_MAX,
		.period_ns = NSEC_PER_SEC / 10 };

	(void)state;
	make(&low, 1, 0, 2);
	assert_int_equal(profile_init(&out), 0);
	assert_int_equal(profile_add_slice(&low, &slice, &out), 0);
	profile_sort(&out);
	assert_int_equal(out.ticks.len, 20);
	/* None before what was asked for, and none behind the tick. */
	assert_int_equal(out.ticks.data[0].time_ns, slice.since_ns);
	assert_int_equal(out.ticks.data[19].time_ns, BEGIN_NS + 2 * NSEC_PER_SEC);
	assert_int_equal(out.ticks.data[10].time_ns, BEGIN_NS + NSEC_PER_SEC * 11 / 10);
}

static void two_rates_are_one_profile_of_one_container(void **state)
{
	_cleanup_(profile_done) struct profile low, high, out;
	struct slice slice = { .since_ns = BEGIN_NS,
		.until_ns = BEGIN_NS + 11 * NSEC_PER_SEC,
		.container = "web",
		.pod = "",
		.period_ns = NSEC_PER_SEC / 100 };

	(void)state;
	make(&low, 10, 0, 100);
	make(&high, 100, 10 * NSEC_PER_SEC, 200);
	assert_int_equal(profile_init(&out), 0);
	assert_int_equal(profile_add_slice(&low, &slice, &out), 0);
	assert_int_equal(profile_add_slice(&high, &slice, &out), 0);
	/* Half of ten seconds, and half of the one up to the end, without the tick at the end. */
	assert_int_equal(profile_total(&out), 500 + 49);
	assert_int_equal(slice.taken, 50 + 49);
	assert_int_equal(out.labels.len, 1);
	assert_string_equal(profile_label_text(&out, 0, PROFILE_KEY_CONTAINER), "web");
}

/* One wait from second 1 to 4, one of second 5, and 7 ns of which it is not known when. */
static void waits_of_the_range_are_taken_as_far_as_they_are_in_it(void **state)
{
	_cleanup_(profile_done) struct profile p, out, again;
	struct slice slice = { .since_ns = BEGIN_NS + 2 * NSEC_PER_SEC,
		.until_ns = BEGIN_NS + 5 * NSEC_PER_SEC,
		.other_kinds = true,
		.no_ticks = true };
	uint32_t kind;

	(void)state;
	make(&p, 1, 0, 2);
	assert_int_equal(profile_kind(&p, "wall", 4, &kind), 0);
	assert_int_equal(profile_span(&p, 0, 0, kind, BEGIN_NS + NSEC_PER_SEC,
				 BEGIN_NS + 4 * NSEC_PER_SEC),
		0);
	assert_int_equal(profile_span(&p, 0, 0, kind, BEGIN_NS + 5 * NSEC_PER_SEC,
				 BEGIN_NS + 6 * NSEC_PER_SEC),
		0);
	assert_int_equal(profile_add_kind(&p, 0, 0, kind, 7), 0);
	assert_int_equal(profile_init(&out), 0);
	assert_int_equal(profile_add_slice(&p, &slice, &out), 0);
	assert_int_equal(out.ticks.len, 0);
	assert_int_equal(out.samples.len, 1);
	assert_int_equal(out.samples.data[0].value, 2 * NSEC_PER_SEC + 7);
	/* What was cut can be cut again. */
	slice.until_ns = BEGIN_NS + 3 * NSEC_PER_SEC;
	assert_int_equal(profile_init(&again), 0);
	assert_int_equal(profile_add_slice(&out, &slice, &again), 0);
	assert_int_equal(again.samples.data[0].value, NSEC_PER_SEC + 7);
}

static void what_is_over_the_limit_is_counted(void **state)
{
	_cleanup_(profile_done) struct profile low, out;
	struct slice slice = { .until_ns = UINT64_MAX, .ticks_max = 30 };

	(void)state;
	make(&low, 10, 0, 100);
	assert_int_equal(profile_init(&out), 0);
	assert_int_equal(profile_add_slice(&low, &slice, &out), 0);
	assert_int_equal(out.ticks.len, 30);
	assert_int_equal(slice.left_out, 70);
	assert_int_equal(slice.taken, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_becomes_as_many_as_it_stands_for),
		cmocka_unit_test(they_lie_in_the_period_before_the_tick),
		cmocka_unit_test(two_rates_are_one_profile_of_one_container),
		cmocka_unit_test(waits_of_the_range_are_taken_as_far_as_they_are_in_it),
		cmocka_unit_test(what_is_over_the_limit_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
