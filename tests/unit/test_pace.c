/* SPDX-License-Identifier: Apache-2.0 */
/* test_pace.c - for how long workers run before others. */
#include "unit.h"

#include "worker/pace.h"

static void the_first_seconds_of_a_load_come_before_others_and_the_rest_does_not(void **state)
{
	struct pace pace;
	uint64_t now = 7 * NSEC_PER_SEC, used = 0, last = 0;

	(void)state;
	pace_init(&pace, now);
	/* A whole CPU for an hour. */
	for (int second = 1; second <= 3600; second++) {
		now += NSEC_PER_SEC;
		used += NSEC_PER_SEC;
		if (pace_feed(&pace, now, used))
			last = (uint64_t)second;
	}
	assert_true(pace.normal);
	assert_int_equal(last, 6); /* and nothing changed after that */
}

static void it_takes_a_while_to_come_before_others_again(void **state)
{
	struct pace pace;

	(void)state;
	pace_init(&pace, 0);
	assert_true(pace_feed(&pace, NSEC_PER_SEC, 60 * NSEC_PER_SEC));
	assert_true(pace.normal);
	assert_false(pace_feed(&pace, NSEC_PER_SEC + 100 * NSEC_PER_SEC, 60 * NSEC_PER_SEC));
	assert_true(pace_feed(&pace, NSEC_PER_SEC + 126 * NSEC_PER_SEC, 60 * NSEC_PER_SEC));
	assert_false(pace.normal);
}

static void what_a_daemon_usually_takes_never_ends_it(void **state)
{
	struct pace pace;
	uint64_t used = 0;

	(void)state;
	pace_init(&pace, 0);
	for (uint64_t minute = 1; minute <= 10000; minute++) {
		used += 60 * NSEC_PER_SEC / 100;
		assert_false(pace_feed(&pace, minute * 60 * NSEC_PER_SEC, used));
	}
}

static void a_sum_that_falls_costs_nothing(void **state)
{
	struct pace pace;

	(void)state;
	pace_init(&pace, 0);
	assert_false(pace_feed(&pace, NSEC_PER_SEC, 4 * NSEC_PER_SEC));
	assert_false(pace_feed(&pace, 2 * NSEC_PER_SEC, NSEC_PER_SEC));
	assert_false(pace_feed(&pace, 3 * NSEC_PER_SEC, 2 * NSEC_PER_SEC));
	assert_true(pace_feed(&pace, 3 * NSEC_PER_SEC, 3 * NSEC_PER_SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_first_seconds_of_a_load_come_before_others_and_the_rest_does_not),
		cmocka_unit_test(it_takes_a_while_to_come_before_others_again),
		cmocka_unit_test(what_a_daemon_usually_takes_never_ends_it),
		cmocka_unit_test(a_sum_that_falls_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
