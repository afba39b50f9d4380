/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps.c - which folders are a trap's bundles, as those that are too many are removed.
 */
#include "unit.h"

#include "base/own.h"
#include "daemon/traps.h"

static void a_folder_is_a_bundle_of_its_trap_alone(void **state)
{
	static const struct {
		const char *file, *name;
		unsigned int number;
	} rows[] = {
		{ "hot-0001-20261121T134647Z", "hot", 1 },
		{ "hot-0420-20261121T134647Z", "hot", 420 },
		{ "hot-12345-20261121T134647Z", "hot", 12345 },
		{ "hot-0001-0002-20261121T134647Z", "hot", 0 },
		{ "hot-0001-0002-20261121T134647Z", "hot-0001", 2 },
		{ "hot-web-0001-20261121T134647Z", "hot", 0 },
		{ "hot-0001-20261121T134647Z", "hotter", 0 },
		{ "hotter-0001-20261121T134647Z", "hot", 0 },
		{ "hot-0001", "hot", 0 },
		{ "hot-1-20261121T134647Z", "hot", 0 },
		{ "hot-9999999999-20261121T134647Z", "hot", 0 },
		{ "hot-0001-mine", "hot", 0 },
		{ "hot", "hot", 0 },
		{ "", "hot", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (traps_bundle_number(rows[i].file, rows[i].name) != rows[i].number)
			fail_msg("%s of %s", rows[i].file, rows[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_is_a_bundle_of_its_trap_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
