/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c - who gives first, and who is not touched. */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/share.h"

#define ACCOUNTS_MAX 8

static uint32_t now = 1;

static uint32_t any(uint32_t below)
{
	now = now * 1664525 + 1013904223;
	return (now >> 8) % below;
}

static void the_largest_gives_first_and_no_sooner_than_it_must(void **state)
{
	static const struct {
		uint64_t held[ACCOUNTS_MAX], max, level;
	} rows[] = {
		{ { 90 }, 100, SHARE_UNBOUND }, /* one account alone fills nine tenths */
		{ { 91 }, 100, 90 },
		{ { 0 }, 100, SHARE_UNBOUND },
		{ { 30, 30, 30 }, 100, SHARE_UNBOUND },
		{ { 10, 85 }, 100, 80 },
		{ { 40, 40, 11 }, 100, 39 },
		{ { 50, 50 }, 100, 45 },
		{ { 1, 2, 3, 100 }, 100, 84 },
		{ { 1, 60, 100 }, 100, 44 },
		{ { 30, 30, 30, 30 }, 100, 22 },
		{ { 1, 1 }, 0, 0 },
		{ { 1ULL << 62, 1ULL << 62 }, 100, 45 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(share_done) struct share share = { 0 };
		uint64_t level = 1234;

		for (uint64_t n = 0; n < ACCOUNTS_MAX; n++)
			assert_int_equal(share_charge(&share, n, rows[i].held[n]), 0);
		assert_int_equal(share_level(&share, rows[i].max, &level), 0);
		if (level != rows[i].level)
			fail_msg("row %zu: %llu", i, (unsigned long long)level);
	}
}

/* Whatever the others hold. */
static void nobody_below_an_equal_part_is_touched_and_all_together_fit(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2000; turn++) {
		_cleanup_(share_done) struct share share = { 0 };
		uint64_t len = 1 + any(12), max = 1 + any(5000), level, kept = 0;

		for (uint64_t n = 0; n < len; n++)
			assert_int_equal(share_charge(&share, n, any(2000) >> any(8)), 0);
		assert_int_equal(share_level(&share, max, &level), 0);
		vec_each (&share.accounts, account)
			kept += account->held < level ? account->held : level;
		assert_true(kept <= share_room(max));
		if (level == SHARE_UNBOUND)
			continue;
		assert_true(level >= share_room(max) / share.accounts.len);
		/* One more for each would be too much. */
		kept = 0;
		vec_each (&share.accounts, account)
			kept += account->held <= level ? account->held : level + 1;
		assert_true(kept > share_room(max));
	}
}

static void charges_and_returns_in_any_order_agree_with_an_array(void **state)
{
	_cleanup_(share_done) struct share share = { 0 };
	uint64_t held[ACCOUNTS_MAX] = { 0 };

	(void)state;
	for (int turn = 0; turn < 5000; turn++) {
		uint64_t account = any(ACCOUNTS_MAX), amount = any(20), used = 0, len = 0;

		if (any(2)) {
			assert_int_equal(share_charge(&share, account * 7919, amount), 0);
			held[account] += amount;
		} else {
			share_return(&share, account * 7919, amount);
			held[account] -= amount < held[account] ? amount : held[account];
		}
		for (uint64_t n = 0; n < ACCOUNTS_MAX; n++) {
			assert_int_equal(share_held(&share, n * 7919), held[n]);
			used += held[n];
			len += held[n] > 0;
		}
		assert_int_equal(share.used, used);
		assert_int_equal(share.accounts.len, len);
	}
}

static void where_nothing_is_taken_back_the_rest_is_for_those_who_hold_little(void **state)
{
	_cleanup_(share_done) struct share share = { 0 };

	(void)state;
	for (int i = 0; i < 90; i++) {
		assert_false(share_refuses(&share, 1, 1, 100));
		assert_int_equal(share_charge(&share, 1, 1), 0);
	}
	assert_true(share_refuses(&share, 1, 1, 100));
	/* Of ten that remain each of two may have five, and so on. */
	for (uint64_t account = 2; account < 7; account++) {
		assert_false(share_refuses(&share, account, 1, 100));
		assert_int_equal(share_charge(&share, account, 1), 0);
	}
	assert_true(share_refuses(&share, 2, 1, 100));
	assert_true(share_refuses(&share, 9, 2, 100));
	for (uint64_t account = 10; account < 15; account++) {
		assert_false(share_refuses(&share, account, 1, 100));
		assert_int_equal(share_charge(&share, account, 1), 0);
	}
	assert_true(share_refuses(&share, 99, 1, 100));
	assert_true(share_refuses(&share, 99, UINT64_MAX, 100));
}

/* Two that hold a table together end where neither may take from the other. */
static void who_holds_half_as_much_as_the_largest_takes_nothing(void **state)
{
	_cleanup_(share_done) struct share share = { 0 };

	(void)state;
	assert_false(share_may_take(&share, 1));
	assert_int_equal(share_charge(&share, 1, 100), 0);
	assert_false(share_may_take(&share, 1));
	assert_true(share_may_take(&share, 2));
	assert_int_equal(share_charge(&share, 2, 49), 0);
	assert_true(share_may_take(&share, 2));
	assert_int_equal(share_charge(&share, 2, 1), 0);
	assert_false(share_may_take(&share, 2));
	assert_true(share_may_take(&share, 3));
}

static void all_give_back_equal_parts_and_who_has_less_all_of_it(void **state)
{
	static const struct {
		uint64_t held[4], amount, left[4];
	} rows[] = {
		{ { 100 }, 30, { 70 } },
		{ { 100, 10 }, 30, { 80, 0 } },
		{ { 10, 100 }, 30, { 0, 80 } },
		{ { 50, 50, 50 }, 30, { 40, 40, 40 } },
		{ { 1, 2, 300, 400 }, 103, { 0, 0, 250, 350 } },
		{ { 5, 6 }, 11, { 0, 0 } },
		{ { 5, 6 }, UINT64_MAX, { 0, 0 } },
		{ { 0 }, 5, { 0 } },
		{ { 7, 8 }, 0, { 7, 8 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(share_done) struct share share = { 0 };

		for (uint64_t n = 0; n < 4; n++)
			assert_int_equal(share_charge(&share, n, rows[i].held[n]), 0);
		share_drain(&share, rows[i].amount);
		for (uint64_t n = 0; n < 4; n++)
			if (share_held(&share, n) != rows[i].left[n])
				fail_msg("row %zu, account %llu: %llu", i, (unsigned long long)n,
					(unsigned long long)share_held(&share, n));
	}
}

static void a_part_of_the_time_that_passes_is_given_back(void **state)
{
	struct share_debt debt = { .since_ns = SHARE_DEBT_NS };

	(void)state;
	assert_int_equal(share_charge(&debt.held, 1, SHARE_DEBT_NS), 0);
	share_debt_pass(&debt, 100, 2 * SHARE_DEBT_NS - 1);
	assert_int_equal(debt.held.used, SHARE_DEBT_NS);
	share_debt_pass(&debt, 100, 11 * SHARE_DEBT_NS);
	assert_int_equal(debt.held.used, SHARE_DEBT_NS - SHARE_DEBT_NS / 10);
	share_debt_pass(&debt, 0, 21 * SHARE_DEBT_NS);
	assert_int_equal(debt.held.used, SHARE_DEBT_NS - SHARE_DEBT_NS / 10);
	share_debt_pass(&debt, 100, 200 * SHARE_DEBT_NS);
	assert_int_equal(debt.held.used, 0);
	share_debt_done(&debt);
}

static void an_account_owes_more_than_others_only_where_all_owe_too_much(void **state)
{
	struct share_debt debt = { 0 };
	uint64_t level;

	(void)state;
	assert_int_equal(share_charge(&debt.held, 1, 80), 0);
	assert_int_equal(share_charge(&debt.held, 2, 10), 0);
	level = share_debt_level(&debt, 100);
	assert_int_equal(level, SHARE_UNBOUND);
	assert_false(share_owes_more(&debt, 1, level));
	assert_int_equal(share_charge(&debt.held, 1, 1), 0);
	level = share_debt_level(&debt, 100);
	assert_int_equal(level, 80);
	assert_true(share_owes_more(&debt, 1, level));
	assert_false(share_owes_more(&debt, 2, level));
	assert_false(share_owes_more(&debt, 3, level));
	share_debt_done(&debt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_gives_first_and_no_sooner_than_it_must),
		cmocka_unit_test(nobody_below_an_equal_part_is_touched_and_all_together_fit),
		cmocka_unit_test(charges_and_returns_in_any_order_agree_with_an_array),
		cmocka_unit_test(where_nothing_is_taken_back_the_rest_is_for_those_who_hold_little),
		cmocka_unit_test(all_give_back_equal_parts_and_who_has_less_all_of_it),
		cmocka_unit_test(an_account_owes_more_than_others_only_where_all_owe_too_much),
		cmocka_unit_test(a_part_of_the_time_that_passes_is_given_back),
		cmocka_unit_test(who_holds_half_as_much_as_the_largest_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
