/* SPDX-License-Identifier: Apache-2.0 */
/* test_users.c - a number that a user or a group of the host has is not ours. */
#include "unit.h"

#include "base/own.h"
#include "worker/users.h"

static void a_number_of_a_user_or_group_is_taken(void **state)
{
	static const struct {
		const char *passwd;
		bool taken;
	} rows[] = {
		{ "", false },
		{ "root:x:0:0:root:/root:/bin/sh\n", false },
		{ "root:x:0:0::/:\ntheirs:x:60760:100::/:\n", true },
		{ "theirs:x:1000:60760::/:\n", true },
		{ "theirs:x:60760", true },
		{ "theirs:x:60760\nnext:x:1:1:::\n", true },
		{ "theirs:x:607600:1:::\nother:x:6076:1:::\n", false },
		{ "60760:60760:1:1:60760:60760:60760\n", false },
		{ "theirs:x: 60760:1:::\n", false },
		{ "theirs:x:60760a:1:::\n", false },
		{ "theirs\n:x\n:60760\n", false },
		{ "::\n::60760:\n", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		assert_int_equal(buf_puts(&text, rows[i].passwd), 0);
		if (users_is_taken(&text, USERS_WORKER) != rows[i].taken)
			fail_msg("%s", rows[i].passwd);
	}
}

static void a_user_is_of_the_range(void **state)
{
	static const uid_t firsts[] = { USERS_WORKER, USERS_SERVER, USERS_FETCHER,
		USERS_CAPTURE, USERS_OPENER };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		uid_t uid = users_choose(firsts[i]);

		assert_true(uid >= firsts[i] && uid < firsts[i] + USERS_CHOICES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_of_a_user_or_group_is_taken),
		cmocka_unit_test(a_user_is_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
