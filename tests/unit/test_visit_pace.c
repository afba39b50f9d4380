/* SPDX-License-Identifier: Apache-2.0 */
/* test_visit_pace.c - how far apart visits are, by what they cost. */
#include "unit.h"

#include "base/clock.h"
#include "waiting/visit_pace.h"

#define HZ 2
#define PART 250
#define MS 1000000ULL
#define PERIOD (NSEC_PER_SEC / HZ)
#define LEAST (PERIOD - PERIOD / VISIT_PACE_VARIES)
#define MOST (PERIOD + PERIOD / VISIT_PACE_VARIES)

struct host {
	struct visit_pace pace;
	uint64_t ns, cost_ns, visits;
};

static void host_init(struct host *h)
{
	*h = (struct host){ 0 };
	visit_pace_init(&h->pace, HZ, PART, 7);
}

/* The time to the next one. */
static uint64_t visit(struct host *h, uint64_t cost_ns)
{
	uint64_t next_ns = visit_pace_next_ns(&h->pace, cost_ns);

	h->ns += next_ns;
	h->cost_ns += cost_ns;
	h->visits++;
	return next_ns;
}

static void cheap_visits_have_the_rate_that_was_asked_for(void **state)
{
	struct host h;

	(void)state;
	host_init(&h);
	for (int i = 0; i < 1000; i++)
		assert_in_range(visit(&h, 1 * MS), LEAST, MOST);
	assert_in_range(h.ns, 1000 * PERIOD / 100 * 98, 1000 * PERIOD / 100 * 102);
}

static void dear_visits_take_their_part(void **state)
{
	struct host h;

	(void)state;
	host_init(&h);
	for (int i = 0; i < 1000; i++)
		visit(&h, 20 * MS);
	assert_in_range(h.cost_ns * PART, h.ns / 100 * 97, h.ns / 100 * 103);
	/* 20 ms of every 5 s. */
	for (int i = 0; i < 20; i++)
		assert_in_range(visit(&h, 20 * MS), 3900 * MS, 6100 * MS);
}

static void one_dear_visit_does_not_stop_visits(void **state)
{
	struct host h;
	uint64_t longest_ns, all_ns = 0;

	(void)state;
	host_init(&h);
	for (int i = 0; i < 100; i++)
		visit(&h, MS / 2);
	/* Paid for at once it would be 25 s without a visit. */
	longest_ns = visit(&h, 100 * MS);
	assert_true(longest_ns < 4 * NSEC_PER_SEC);
	all_ns = longest_ns;
	for (int i = 0; i < 30; i++)
		all_ns += visit(&h, MS / 2);
	/* But it is paid for: 30 visits at the rate would take 15 s. */
	assert_in_range(all_ns, 28 * NSEC_PER_SEC, 45 * NSEC_PER_SEC);
	assert_in_range(visit(&h, MS / 2), LEAST, MOST);
}

static void one_cheap_visit_brings_no_burst(void **state)
{
	struct host h;

	(void)state;
	host_init(&h);
	for (int i = 0; i < 100; i++)
		visit(&h, 20 * MS);
	assert_true(visit(&h, 0) > 3400 * MS);
	/* However cheap they alternate, the part holds. */
	host_init(&h);
	for (int i = 0; i < 2000; i++)
		visit(&h, i % 2 ? 0 : 40 * MS);
	assert_true(h.cost_ns * PART <= h.ns / 100 * 103);
}

static void many_threads_are_visited_soon_at_first(void **state)
{
	struct host h;

	(void)state;
	host_init(&h);
	for (int i = 0; i < 3; i++)
		visit(&h, 8 * MS);
	assert_true(h.ns < 3 * NSEC_PER_SEC);
	/* That is not more than said. */
	for (int i = 0; i < 100; i++)
		visit(&h, 8 * MS);
	assert_true(h.cost_ns - h.ns / PART <= (VISIT_PACE_AVERAGE + 1) * 8 * MS);
}

static void a_clock_that_stepped_does_not_stop_visits_for_ever(void **state)
{
	struct host h;
	uint64_t ns = 0;

	(void)state;
	host_init(&h);
	visit_pace_next_ns(&h.pace, UINT64_MAX);
	for (int i = 0; i < 200; i++)
		ns = visit_pace_next_ns(&h.pace, MS);
	assert_in_range(ns, LEAST, MOST);
}

static void the_rates_at_the_limits_are_visits(void **state)
{
	struct visit_pace pace;

	(void)state;
	visit_pace_init(&pace, 100, 20, 0);
	for (int i = 0; i < 1000; i++)
		assert_in_range(visit_pace_next_ns(&pace, 0), 8 * MS, 12 * MS);
	/* 8 s of CPU time a visit. */
	visit_pace_init(&pace, 1, PART, 7);
	for (int i = 0; i < 100; i++)
		visit_pace_next_ns(&pace, 8 * NSEC_PER_SEC);
	for (int i = 0; i < 100; i++)
		assert_in_range(visit_pace_next_ns(&pace, 8 * NSEC_PER_SEC),
			1599 * NSEC_PER_SEC, 2401 * NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_visits_have_the_rate_that_was_asked_for),
		cmocka_unit_test(dear_visits_take_their_part),
		cmocka_unit_test(one_dear_visit_does_not_stop_visits),
		cmocka_unit_test(one_cheap_visit_brings_no_burst),
		cmocka_unit_test(many_threads_are_visited_soon_at_first),
		cmocka_unit_test(a_clock_that_stepped_does_not_stop_visits_for_ever),
		cmocka_unit_test(the_rates_at_the_limits_are_visits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
