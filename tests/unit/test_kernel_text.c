/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's text of one address becomes a name with a start, or none. */
#include "unit.h"
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "sym/kernel_text.h"

#define AT 0xffffffff81000123

static const struct {
	const char *text, *name, *module; /* name: "-" where none is found */
	uint64_t offset;
} rows[] = {
	{ "do_syscall_64+0x23/0x1d0", "do_syscall_64", "", 0x23 },
	{ "finish_task_switch.isra.0+0x0/0x320", "finish_task_switch.isra.0", "", 0 },
	{ "ext4_iget+0x100/0x200 [ext4]", "ext4_iget", "ext4", 0x100 },
	{ "bpf_prog_6deef7357e7b4530_sample+0x1/0x50 [bpf]", "bpf_prog_6deef7357e7b4530_sample",
		"bpf", 1 },
	{ "a+b+0x10/0x20", "a+b", "", 0x10 },
	{ "last_of_its_part+0xfffff/0x200000", "last_of_its_part", "", 0xfffff },
	{ "too_far_from_its_start+0x100000/0x200000", "-", NULL, 0 },
	{ "cut_bracket+0x1/0x2 [mod", "cut_bracket", "", 1 },
	{ "0xffffffffc0201001", "-", NULL, 0 },
	{ "+0x1/0x2", "-", NULL, 0 },
	{ "no_number+/0x2", "-", NULL, 0 },
	{ "starts_below_zero+0xfffffffffffff/0x1", "-", NULL, 0 },
	{ "", "-", NULL, 0 },
};

static void a_symbol_has_its_name_start_and_module(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];
		struct kernel_name found = { .name = "-" };
		bool is_found;

		print_message("%s\n", rows[i].text);
		snprintf(text, sizeof(text), "%s", rows[i].text);
		is_found = kernel_text_parse(text, AT, &found);
		assert_string_equal(found.name, rows[i].name);
		assert_int_equal(is_found, strcmp(rows[i].name, "-") != 0);
		if (!is_found)
			continue;
		assert_string_equal(found.module, rows[i].module);
		assert_true(found.start == AT - rows[i].offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_has_its_name_start_and_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
