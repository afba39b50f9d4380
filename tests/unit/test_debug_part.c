/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files lie that debugging information refers to, and what may not be opened for it. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "dwarf/debug_part.h"

#define BIN "/opt/app/prog"

static void the_places_of_each_kind_in_order(void **state)
{
	static const struct {
		uint32_t kind;
		const char *dir, *name;
		const char *places[DEBUG_PART_PLACES]; /* NULL: none */
	} rows[] = {
		{ DEBUG_PART_NONE, "", "", { NULL } },
		{ DEBUG_PART_PACKAGE, "", "", { BIN ".dwp", "/usr/lib/debug" BIN ".dwp" } },
		{ DEBUG_PART_SPLIT, "/src", "o/a.dwo", { "/src/o/a.dwo", "/opt/app/a.dwo" } },
		{ DEBUG_PART_SPLIT, "/src", "/o/a.dwo", { "/o/a.dwo", "/opt/app/a.dwo" } },
		{ DEBUG_PART_SPLIT, "", "a.dwo", { NULL, "/opt/app/a.dwo" } },
		{ DEBUG_PART_SPLIT, "/etc", "shadow", { NULL } },
		{ DEBUG_PART_SPLIT, "/etc", ".dwo", { NULL } },
		{ DEBUG_PART_ALT, "", "/usr/lib/debug/.dwz/x86/a.debug",
			{ "/usr/lib/debug/.build-id/ab/cd.debug", "/usr/lib/debug/.dwz/x86/a.debug",
				"/opt/app/a.debug" } },
		{ DEBUG_PART_ALT, "", "../../.dwz/a",
			{ "/usr/lib/debug/.build-id/ab/cd.debug", "/usr/lib/debug/.dwz/a",
				"/opt/app/a" } },
		{ DEBUG_PART_ALT, "", ".dwz/../../../etc/shadow",
			{ "/usr/lib/debug/.build-id/ab/cd.debug", NULL, "/opt/app/shadow" } },
		{ DEBUG_PART_ALT, "", "/etc/..",
			{ "/usr/lib/debug/.build-id/ab/cd.debug", NULL, NULL } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct debug_part part = { .kind = rows[i].kind,
			.build_id = { .bytes = { 0xab, 0xcd }, .len = 2 } };
		char path[PATH_MAX];

		snprintf(part.dir, sizeof(part.dir), "%s", rows[i].dir);
		snprintf(part.name, sizeof(part.name), "%s", rows[i].name);
		for (unsigned int n = 0; n < DEBUG_PART_PLACES; n++) {
			int err = debug_part_candidate(&part, BIN, n, path);

			print_message("row %zu, place %u: %s\n", i, n, err ? "" : path);
			assert_int_equal(err, rows[i].places[n] ? 0 : -ENOENT);
			if (rows[i].places[n])
				assert_string_equal(path, rows[i].places[n]);
		}
		assert_int_equal(debug_part_candidate(&part, "prog", 0, path), -ENOENT);
	}
}

static void paths_that_are_too_long_are_none(void **state)
{
	static char deep[PATH_MAX];
	struct debug_part part = { .kind = DEBUG_PART_PACKAGE };
	char path[PATH_MAX];

	(void)state;
	memset(deep, '/', sizeof(deep) - 1);
	assert_int_equal(debug_part_candidate(&part, deep, 0, path), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_places_of_each_kind_in_order),
		cmocka_unit_test(paths_that_are_too_long_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
