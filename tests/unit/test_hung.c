/* SPDX-License-Identifier: Apache-2.0 */
/* test_hung.c - how many openers of one account, or kind, may be stuck. */
#include "unit.h"

#include "client/hung.h"

static uint64_t each_its_own(pid_t process)
{
	return (uint64_t)process;
}

/* A hundred processes are one account's, in whichever cgroups they are. */
static uint64_t hundreds(pid_t process)
{
	return 1 + (uint64_t)process / 100;
}

/* Hangs files of processes FIRST, FIRST + 1, ..., each on a device of its own, until one is
 * refused. */
static int hang_from(struct hung *hung, enum hung_kind kind, pid_t first)
{
	struct starter starter = STARTER_INIT;
	int used = 0;

	for (; hung_has_room(hung, kind); used++) {
		struct hung_file file = {
			.kind = kind, .dev = 1000 + (uint32_t)first, .process = first
		};
		struct child child = CHILD_INIT;

		if (hung_refuses(hung, &file))
			break;
		hung_put(hung, &starter, kind, &child, &file);
		first++;
	}
	return used;
}

/* The processes are none, so root's: the owner does not tell them apart. */
static void an_account_of_many_cgroups_has_one_opener_stuck(void **state)
{
	struct hung hung = { .account = hundreds };

	(void)state;
	assert_int_equal(hang_from(&hung, HUNG_PATH, 5000000), 1);
	assert_int_equal(hang_from(&hung, HUNG_PATH, 5000001), 0);
	assert_int_equal(hang_from(&hung, HUNG_PATH, 5000100), 1);
	hung_done(&hung);
}

static void those_stuck_in_slow_file_systems_take_no_place_of_paths(void **state)
{
	struct hung hung = { .account = each_its_own };

	(void)state;
	assert_int_equal(hang_from(&hung, HUNG_SLOW, 5000000), HUNG_PLACES);
	assert_false(hung_has_room(&hung, HUNG_SLOW));
	assert_int_equal(hang_from(&hung, HUNG_PATH, 5001000), HUNG_PLACES);
	assert_true(hung_has_room(&hung, HUNG_LOCAL));
	assert_int_equal(hang_from(&hung, HUNG_LOCAL, 5002000), HUNG_PLACES);
	assert_int_equal(hung.len, HUNG_MAX);
	hung_done(&hung);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_of_many_cgroups_has_one_opener_stuck),
		cmocka_unit_test(those_stuck_in_slow_file_systems_take_no_place_of_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
