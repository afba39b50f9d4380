/* SPDX-License-Identifier: Apache-2.0 */
/* test_tick_shares.c - whose ticks get a limit of time, how low, and when it goes away. */
#include "unit.h"

#include "base/clock.h"
#include "base/own.h"
#include "containers/tick_shares.h"

#define ALLOWED 10000 /* ppm */
#define PERIOD (NSEC_PER_SEC / 100)
#define PART 90000 /* ns: nine tenths of what the budget gives each tick */
#define FULL 260000
#define ACCOUNTS_MAX 4
#define US 1000

static struct tick_shares shares;

static int teardown(void **state)
{
	(void)state;
	tick_shares_done(&shares);
	shares = (struct tick_shares){ 0 };
	return 0;
}

static int judge(uint64_t cost_ppm)
{
	const struct tick_load load = { cost_ppm, ALLOWED, PERIOD, FULL, true };

	return tick_shares_judge(&shares, &load);
}

static void charge(uint64_t account, uint64_t ticks, uint64_t us_each)
{
	assert_int_equal(
		tick_shares_charge(&shares, account, account, ticks, ticks * us_each * US), 0);
}

static void only_those_above_their_part_are_limited(void **state)
{
	static const struct {
		struct {
			uint64_t ticks, us;
			bool limited;
		} accounts[ACCOUNTS_MAX];
		uint64_t cost_ppm;
		int verdict;
	} rows[] = {
		/* within the budget: whatever anybody takes */
		{ { { 1000, 250, false }, { 1000, 20, false } }, 9000, TICK_SHARES_KEPT },
		/* one of deep stacks beside another, on one CPU each */
		{ { { 1000, 250, true }, { 1000, 20, false } }, 25000, TICK_SHARES_CHANGED },
		/* it is alone on one of many CPUs, where the other has most of the time by far */
		{ { { 1000, 250, true }, { 63000, 20, false } }, 25000, TICK_SHARES_CHANGED },
		/* a few long ticks are not what makes it dear */
		{ { { 1000, 250, true }, { 3, 200, false } }, 25000, TICK_SHARES_CHANGED },
		{ { { 1000, 250, true }, { 900, 250, true }, { 1000, 80, false } }, 25000,
			TICK_SHARES_CHANGED },
		/* of two the larger one is enough */
		{ { { 1000, 250, true }, { 10, 120, false }, { 1000, 30, false } }, 11000,
			TICK_SHARES_CHANGED },
		/* all are within their part: it is not the stacks */
		{ { { 1000, 80, false }, { 1000, 90, false } }, 11000, TICK_SHARES_SPENT },
		{ { { 0, 0, false } }, 11000, TICK_SHARES_SPENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		teardown(state);
		for (uint64_t a = 0; a < ACCOUNTS_MAX; a++)
			charge(a, rows[i].accounts[a].ticks, rows[i].accounts[a].us);
		if (judge(rows[i].cost_ppm) != rows[i].verdict)
			fail_msg("row %zu: another verdict", i);
		for (uint64_t a = 0; a < ACCOUNTS_MAX; a++)
			if ((tick_shares_limit(&shares, a) > 0) != rows[i].accounts[a].limited)
				fail_msg("row %zu: account %llu", i, (unsigned long long)a);
	}
}

static void a_limit_leaves_time_for_what_follows_the_walk(void **state)
{
	(void)state;
	charge(1, 1000, 250);
	assert_int_equal(judge(25000), TICK_SHARES_CHANGED);
	assert_int_equal(shares.limited, 1);
	assert_true(shares.accounts.data[0].is_new);
	assert_in_range(tick_shares_limit(&shares, 1), PART * 3 / 4, PART);
}

/* The kernel half, or the copy of the stack, may take what the walk does not. */
static void a_limit_that_did_not_help_becomes_lower_to_a_least_one(void **state)
{
	uint64_t before;

	(void)state;
	charge(1, 1000, 250);
	judge(25000);
	for (int i = 0; i < 20; i++) {
		before = tick_shares_limit(&shares, 1);
		charge(1, 1000, 180);
		if (judge(18000) != TICK_SHARES_CHANGED)
			break;
		assert_false(shares.accounts.data[0].is_new);
		assert_true(tick_shares_limit(&shares, 1) < before);
	}
	assert_int_equal(tick_shares_limit(&shares, 1), PART / 8);
	charge(1, 1000, 180);
	assert_int_equal(judge(18000), TICK_SHARES_SPENT);
}

static void limits_are_given_back_when_there_is_room_for_a_while(void **state)
{
	(void)state;
	charge(1, 1000, 250);
	judge(25000);
	for (int i = 0; i < 100; i++) {
		charge(1, 1000, 80);
		assert_int_equal(judge(ALLOWED / 2), TICK_SHARES_KEPT);
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(shares.limited, 1);
		for (int i = 1; i < TICK_SHARES_WINDOWS_UP; i++)
			assert_int_equal(judge(ALLOWED / 5), TICK_SHARES_KEPT);
		assert_int_equal(judge(ALLOWED / 5), TICK_SHARES_CHANGED);
	}
	assert_int_equal(shares.limited, 0);
	assert_int_equal(tick_shares_limit(&shares, 1), 0);
}

static void the_rate_is_given_back_before_limits_are(void **state)
{
	const struct tick_load load = { ALLOWED / 5, ALLOWED, PERIOD, FULL, false };

	(void)state;
	charge(1, 1000, 250);
	judge(25000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(tick_shares_judge(&shares, &load), TICK_SHARES_KEPT);
	assert_int_equal(shares.limited, 1);
}

/* Ticks of its CPUs as the limits have them; the others run beside it. */
static void many_of_deep_stacks_come_down_together_within_a_few_windows(void **state)
{
	uint64_t cost_ppm = 25000;
	int windows = 0;

	(void)state;
	while (cost_ppm > ALLOWED * 9 / 10 && windows++ < 10) {
		uint64_t took = 0;

		for (uint64_t a = 0; a < 50; a++) {
			uint64_t limit = a < 40 ? tick_shares_limit(&shares, a) : 0;
			uint64_t us = a >= 40 ? 30 : limit ? limit / US + 8 : 250;

			charge(a, 1000, us);
			took = us > took ? us : took;
		}
		cost_ppm = took * US * 1000000 / PERIOD;
		judge(cost_ppm);
	}
	assert_in_range(windows, 1, 4);
	assert_int_equal(shares.limited, 40);
	for (uint64_t a = 40; a < 50; a++)
		assert_int_equal(tick_shares_limit(&shares, a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(only_those_above_their_part_are_limited, teardown),
		cmocka_unit_test_teardown(a_limit_leaves_time_for_what_follows_the_walk, teardown),
		cmocka_unit_test_teardown(
			a_limit_that_did_not_help_becomes_lower_to_a_least_one, teardown),
		cmocka_unit_test_teardown(
			limits_are_given_back_when_there_is_room_for_a_while, teardown),
		cmocka_unit_test_teardown(the_rate_is_given_back_before_limits_are, teardown),
		cmocka_unit_test_teardown(
			many_of_deep_stacks_come_down_together_within_a_few_windows, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
