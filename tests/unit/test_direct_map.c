/* SPDX-License-Identifier: Apache-2.0 */
/* test_direct_map.c - the beginning of the kernel's map of all memory is found from the bottom up,
 * and nothing above it is tried. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "waiting/direct_map.h"

#define GIB (1ULL << 30)

struct machine {
	uint64_t base, root, highest;
	uint32_t top;
	bool other; /* tables of another format */
};

static int ask(void *ctx, uint64_t base, uint32_t top, const void *addr, void *out, uint64_t *root)
{
	struct machine *m = ctx;

	*root = m->root;
	if (base > m->highest)
		m->highest = base;
	memset(out, 0x5a, 64);
	if (base != m->base || top != m->top || m->other)
		return base > m->base; /* some of the others can be read */
	memcpy(out, addr, 64);
	return 1;
}

static void the_map_is_found_from_the_bottom_up(void **state)
{
	static const struct machine machines[] = {
		{ .base = 0xffff888000000000, .root = 0xffff888000001000, .top = 1 },
		{ .base = 0xffff9d4140000000, .root = 0xffff9d4143210000, .top = 1 },
		{ .base = 0xff11000000000000, .root = 0xff1100000abc0000, .top = 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct machine m = machines[i];
		const struct direct_map_asker asker = { ask, &m };
		struct why why;
		struct direct_map map;

		assert_int_equal(direct_map_find(&asker, &map, &why), 0);
		assert_int_equal(map.base, m.base);
		assert_int_equal(map.top, m.top);
		assert_true(map.memory_end > 0 && map.memory_end % 4096 == 0);
		assert_true(m.highest == m.base);
	}
}

static void tables_of_another_format_are_refused(void **state)
{
	struct machine m = { .base = 0xffff888000000000, .root = 0xffff888000001000, .top = 1,
		.other = true };
	const struct direct_map_asker asker = { ask, &m };
	struct why why = { "" };
	struct direct_map map;

	(void)state;
	assert_int_equal(direct_map_find(&asker, &map, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "format"));
}

static void memory_ends_where_its_last_zone_does(void **state)
{
	static const char two[] = "Node 0, zone    DMA32\n  pages free     1\n"
				  "        spanned  100\n        present  7\n"
				  "  start_pfn:           50\n"
				  "Node 0, zone   Normal\n        spanned  5505024\n"
				  "  start_pfn:           1048576\nNode 0, zone  Movable\n"
				  "        spanned  0\n";

	(void)state;
	assert_int_equal(direct_map_pages(two, sizeof(two) - 1), 1048576 + 5505024);
	assert_int_equal(direct_map_pages(two, 70), 0); /* cut */
	assert_int_equal(direct_map_pages("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_map_is_found_from_the_bottom_up),
		cmocka_unit_test(tables_of_another_format_are_refused),
		cmocka_unit_test(memory_ends_where_its_last_zone_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
