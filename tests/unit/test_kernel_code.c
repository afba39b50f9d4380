/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel code that comes and goes has its own name, or none. */
#include "unit.h"

#include "sym/kernel_code.h"

#define AT 0xffffffffc0000000

static struct kernel_code code;

static const char *name_at(uint64_t addr)
{
	uint64_t start = 0;
	const char *name = kernel_code_find(&code, addr, 1000, 2000, &start);

	assert_true(!name || start <= addr);
	return name ? name : "-";
}

static int teardown(void **state)
{
	(void)state;
	kernel_code_done(&code);
	code = (struct kernel_code){ 0 };
	return 0;
}

static void it_covers_its_size_and_no_more(void **state)
{
	(void)state;
	assert_int_equal(kernel_code_add(&code, AT + 64, 64, "a", 1100), 0);
	assert_string_equal(name_at(AT + 63), "-");
	assert_string_equal(name_at(AT + 64), "a");
	assert_string_equal(name_at(AT + 127), "a");
	assert_string_equal(name_at(AT + 128), "-");
	assert_int_equal(kernel_code_add(&code, AT + 200, 0, "nothing", 1100), 0);
	assert_string_equal(name_at(AT + 200), "-");
}

static void what_is_gone_has_its_name_until_all_have_theirs(void **state)
{
	(void)state;
	assert_int_equal(kernel_code_add(&code, AT, 64, "stays", 1100), 0);
	assert_int_equal(kernel_code_add(&code, AT + 64, 64, "goes", 1100), 0);
	assert_int_equal(kernel_code_remove(&code, AT + 64, 64, "goes", 1500), 0);
	assert_string_equal(name_at(AT + 70), "goes");
	kernel_code_next(&code);
	assert_string_equal(name_at(AT + 70), "-");
	assert_string_equal(name_at(AT), "stays");
}

/* Of one whose end was not told too: it cannot be where another one is. */
static void what_comes_in_its_place_has_the_address(void **state)
{
	(void)state;
	assert_int_equal(kernel_code_add(&code, AT, 128, "first", 1100), 0);
	assert_int_equal(kernel_code_add(&code, AT + 64, 128, "second", 1200), 0);
	assert_string_equal(name_at(AT), "first");
	assert_string_equal(name_at(AT + 64), "second");
	kernel_code_next(&code);
	assert_string_equal(name_at(AT), "-");
	assert_string_equal(name_at(AT + 191), "second");
}

/* Most samples at the address are its. */
static void of_several_the_one_that_was_there_for_longest_has_the_address(void **state)
{
	(void)state;
	assert_int_equal(kernel_code_add(&code, AT, 64, "short", 1010), 0);
	assert_int_equal(kernel_code_remove(&code, AT, 64, "short", 1020), 0);
	assert_int_equal(kernel_code_add(&code, AT, 64, "long", 1030), 0);
	assert_int_equal(kernel_code_remove(&code, AT, 64, "long", 1900), 0);
	assert_int_equal(kernel_code_add(&code, AT + 8, 8, "late", 1950), 0);
	assert_string_equal(name_at(AT + 8), "long");
	kernel_code_next(&code);
	assert_string_equal(name_at(AT + 8), "late");
}

static void what_was_there_before_and_went_has_its_name(void **state)
{
	(void)state;
	assert_int_equal(kernel_code_remove(&code, AT, 64, "old", 1800), 0);
	assert_int_equal(kernel_code_add(&code, AT, 32, "new", 1900), 0);
	assert_string_equal(name_at(AT), "old");
	assert_string_equal(name_at(AT + 40), "old");
	kernel_code_next(&code);
	assert_string_equal(name_at(AT), "new");
	assert_string_equal(name_at(AT + 40), "-");
}

static void what_does_not_fit_is_counted(void **state)
{
	(void)state;
	for (uint64_t i = 0; i <= KERNEL_CODE_MAX; i++)
		assert_int_equal(kernel_code_add(&code, AT + 64 * i, 64, "x", 1100), 0);
	assert_int_equal(code.dropped, 1);
	assert_string_equal(name_at(AT + 64 * KERNEL_CODE_MAX), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(it_covers_its_size_and_no_more, teardown),
		cmocka_unit_test_teardown(
			what_is_gone_has_its_name_until_all_have_theirs, teardown),
		cmocka_unit_test_teardown(what_comes_in_its_place_has_the_address, teardown),
		cmocka_unit_test_teardown(
			of_several_the_one_that_was_there_for_longest_has_the_address, teardown),
		cmocka_unit_test_teardown(what_was_there_before_and_went_has_its_name, teardown),
		cmocka_unit_test_teardown(what_does_not_fit_is_counted, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
