/* SPDX-License-Identifier: Apache-2.0 */
/* test_bpf_share.c - which account gets more of a table in BPF (bpf/share.bpf.h). */
#include "unit.h"

#include <stdbool.h>

#include "bpf/shim.h"
#include "bpf/share.bpf.h"

#define ACCOUNTS 16

__attribute__((unused)) static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	(void)memory;
	(void)dst;
	(void)size;
	(void)addr;
	return -1;
}

/* The last tenth of a table. */
struct world {
	u64 turn;
	u64 holds[ACCOUNTS];
	u64 rest;
};

static bool take(struct world *w, u32 account, u64 amount)
{
	if (share_refuses(&w->turn, &w->holds[account], amount, w->rest))
		return false;
	w->rest -= amount;
	return true;
}

static u64 take_all(struct world *w, u32 account, u64 amount)
{
	u64 before = w->rest;

	while (take(w, account, amount))
		;
	return before - w->rest;
}

static void begin_turn(struct world *w, u64 rest)
{
	w->turn = ((w->turn >> SHARE_TURN_SHIFT) + 1) << SHARE_TURN_SHIFT;
	w->rest = rest;
}

static void an_account_that_takes_all_it_gets_leaves_others_a_share(void **state)
{
	struct world w = { .rest = 3000 };

	(void)state;
	assert_int_equal(take_all(&w, 0, 1), 1000);
	assert_int_equal(take_all(&w, 1, 1), 500); /* a third of 2,000 that remain, and so on */
	assert_int_equal(take_all(&w, 2, 1), 300);
	for (u32 i = 3; i < ACCOUNTS; i++)
		assert_true(take_all(&w, i, 1) >= 15);
	assert_int_equal(take_all(&w, 0, 1), 0);
	assert_true(w.rest > 0);
}

static void an_account_that_holds_nothing_gets_one_entry_that_fits(void **state)
{
	struct world w = { .rest = 100 };

	(void)state;
	assert_true(take(&w, 0, 60));
	assert_false(take(&w, 1, 60));
	assert_true(take(&w, 1, 40));
	assert_false(take(&w, 0, 1));
	assert_false(take(&w, 2, 1));
	assert_int_equal(w.rest, 0);
}

/* Those of an earlier turn count neither for themselves nor for others. */
static void in_the_next_turn_nobody_holds_anything(void **state)
{
	struct world w = { .rest = 3000 };

	(void)state;
	for (int turn = 0; turn < 5; turn++) {
		assert_int_equal(take_all(&w, 0, 10), 1000);
		assert_int_equal(take_all(&w, 1, 10), 500);
		assert_int_equal((u32)w.turn, 2);
		begin_turn(&w, 3000);
	}
	assert_int_equal(take_all(&w, 2, 10), 1000);
}

static void holdings_are_as_large_as_the_largest_table(void **state)
{
	struct world w = { .rest = TALLY_BYTES_MAX / 10 };

	(void)state;
	begin_turn(&w, w.rest);
	assert_int_equal(take_all(&w, 0, TALLY_STACK_BYTES(STACK_USER_FRAMES_MAX)) /
				TALLY_STACK_BYTES(STACK_USER_FRAMES_MAX),
		TALLY_BYTES_MAX / 10 / 3 / TALLY_STACK_BYTES(STACK_USER_FRAMES_MAX));
	assert_int_equal((u32)w.turn, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_that_takes_all_it_gets_leaves_others_a_share),
		cmocka_unit_test(an_account_that_holds_nothing_gets_one_entry_that_fits),
		cmocka_unit_test(in_the_next_turn_nobody_holds_anything),
		cmocka_unit_test(holdings_are_as_large_as_the_largest_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
