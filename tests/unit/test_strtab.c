/* SPDX-License-Identifier: Apache-2.0 */
/* Interning: each string once, ids that do not change. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/strtab.h"

static void ids_are_dense_and_equal_strings_share_one(void **state)
{
	struct strtab tab;
	char text[32];
	uint32_t id;

	(void)state;
	assert_int_equal(strtab_init(&tab), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "name %u", i);
			assert_int_equal(strtab_puts(&tab, text, &id), 0);
			assert_int_equal(id, i + 1);
		}
	}
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_string_equal(strtab_get(&tab, i + 1), text);
	}
	assert_true(strtab_memory(&tab) > 5000 * 10);
	strtab_done(&tab);
}

static void the_empty_string_is_id_0(void **state)
{
	struct strtab tab;
	uint32_t id = 7;

	(void)state;
	assert_int_equal(strtab_init(&tab), 0);
	assert_string_equal(strtab_get(&tab, 0), "");
	assert_int_equal(strtab_puts(&tab, "", &id), 0);
	assert_int_equal(id, 0);
	strtab_done(&tab);
}

static void a_prefix_is_another_string_and_a_nul_cuts(void **state)
{
	struct strtab tab;
	uint32_t whole, part, cut;

	(void)state;
	assert_int_equal(strtab_init(&tab), 0);
	assert_int_equal(strtab_puts(&tab, "abcdef", &whole), 0);
	assert_int_equal(strtab_put(&tab, "abcdef", 3, &part), 0);
	assert_int_equal(strtab_put(&tab, "abc\0def", 7, &cut), 0);
	assert_int_not_equal(whole, part);
	assert_int_equal(part, cut);
	assert_string_equal(strtab_get(&tab, part), "abc");
	strtab_done(&tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_dense_and_equal_strings_share_one),
		cmocka_unit_test(the_empty_string_is_id_0),
		cmocka_unit_test(a_prefix_is_another_string_and_a_nul_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
