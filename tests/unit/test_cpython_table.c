/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpython_table.c - a table that is a file says the same as a built-in one, and one that is
 * damaged, or that leads out of what BPF reads, is refused for its reason. */
#include "unit.h"

#include <stdio.h>

#include "base/own.h"
#include "language/cpython_table.h"

/* Of 3.12, whose row is in cpython.c, but for its version. */
#define TABLE(version)                                                                            \
	"stoker-table 1\n# a comment\nruntime cpython\nversion " version "\n\n"                   \
	"runtime.interpreters 40\nruntime.key 1548 # a comment\ninterpreter.threads 72\n"         \
	"thread.next 8\nthread.id 136\nthread.link 56\nlink.frame 0\n"                            \
	"frame.code 0\nframe.previous 8\nframe.place 56\nframe.end 70\nplace address\n"           \
	"segment shim\n\tsegment.value\t3\r\ncode.file 112\ncode.name 128\ncode.lines 136\n"      \
	"code.first_line 68\ncode.first 192\ntext.ascii 40\ntext.other 56\ntext.shift 2\n"

static struct cpython_table table;

static enum cpython_table_fault parse(const char *text)
{
	cpython_table_parse(text, strlen(text), &table);
	if (table.fault == CPYTHON_TABLE_OK)
		assert_int_equal(cpython_table_check(&table), CPYTHON_TABLE_OK);
	return (enum cpython_table_fault)table.fault;
}

/* The text with a line that is put in its place; "": it goes. */
static enum cpython_table_fault parse_with(const char *line, const char *instead)
{
	const char *text = TABLE("3.99"), *at = strstr(text, line);
	char changed[2048];

	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, instead,
		at + strlen(line));
	return parse(changed);
}

static void a_file_says_what_a_built_in_row_says(void **state)
{
	const struct cpython_facts facts = {
		.version = 12, .runtime = 4096, .code_type = -8, .eval_begin = 64, .eval_end = 128
	};
	struct language built_in, own;

	(void)state;
	assert_int_equal(parse(TABLE("3.12")), CPYTHON_TABLE_OK);
	assert_true(cpython_describe(&facts, &built_in));
	cpython_table_describe(&table, &facts, &own);
	assert_memory_equal(&own, &built_in, sizeof(own));
}

static void a_table_is_for_its_version(void **state)
{
	static const struct {
		const char *version;
		uint32_t release; /* of the file */
		bool fits;
	} rows[] = {
		{ "3.99", 0, true },
		{ "3.99", 0x036300f0, true },
		{ "3.99", 0x036305f0, true },
		{ "3.99", 0x036300b1, false }, /* structs may still change */
		{ "3.99.0b1", 0x036300b1, true },
		{ "3.99.0b1", 0x036300b2, false },
		{ "3.99.0b1", 0x036300f0, false },
		{ "3.99.0rc2", 0x036300c2, true },
		{ "3.99.5", 0x036305f0, true },
		{ "3.99.5", 0x036306f0, false },
		{ "3.99.5", 0, false }, /* nobody knows */
		{ "3.98", 0x036300f0, false },
	};
	const struct build_id none = { .len = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cpython_facts facts = { .version = 99, .release = rows[i].release };
		char text[2048];

		snprintf(text, sizeof(text), "%.*s%s%s",
			(int)(strstr(TABLE("3.99"), "3.99") - TABLE("3.99")), TABLE("3.99"),
			rows[i].version, strstr(TABLE("3.99"), "3.99") + 4);
		assert_int_equal(parse(text), CPYTHON_TABLE_OK);
		if (cpython_table_fits(&table, &facts, &none) != rows[i].fits)
			fail_msg("%s for %08x", rows[i].version, rows[i].release);
		facts.free_threaded = 1;
		assert_false(cpython_table_fits(&table, &facts, &none));
	}
	assert_int_equal(parse_with("version 3.99\n", "version 3.99\nbuild free-threaded\n"),
		CPYTHON_TABLE_OK);
	assert_true(cpython_table_fits(&table,
		&(struct cpython_facts){ .version = 99, .free_threaded = 1 }, &none));
}

static void a_table_for_a_build_is_for_no_other(void **state)
{
	const struct cpython_facts facts = { .version = 99, .release = 0x036300a1 };
	struct build_id id = { .bytes = { 0x01, 0xef, 0x23 }, .len = 3 };

	(void)state;
	assert_int_equal(
		parse_with("version 3.99\n", "version 3.99\nbuild-id 01ef23\n"), CPYTHON_TABLE_OK);
	/* This very build, so a pre-release, too. */
	assert_true(cpython_table_fits(&table, &facts, &id));
	id.bytes[2]++;
	assert_false(cpython_table_fits(&table, &facts, &id));
	id.bytes[2]--;
	id.len = 2;
	assert_false(cpython_table_fits(&table, &facts, &id));
	id.len = 0;
	assert_false(cpython_table_fits(&table, &facts, &id));
}

static void what_is_no_table_is_refused_for_its_reason(void **state)
{
	static const struct {
		const char *line, *instead;
		enum cpython_table_fault fault;
		uint32_t at;
	} rows[] = {
		{ "stoker-table 1", "stoker-table 2", CPYTHON_TABLE_HEAD, 1 },
		{ "stoker-table 1\n", "", CPYTHON_TABLE_HEAD, 1 },
		{ "stoker-table 1\n", "\n\nstoker-table 1\n", CPYTHON_TABLE_HEAD, 1 },
		{ "runtime cpython\n", "", CPYTHON_TABLE_RUNTIME, 0 },
		{ "runtime cpython\n", "runtime pypy\n", CPYTHON_TABLE_VALUE, 3 },
		{ "version 3.99\n", "", CPYTHON_TABLE_VERSION, 0 },
		{ "version 3.99\n", "version 2.7\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.256\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.99.\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.99.1.2\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.99.1a\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.99.1rc16\n", CPYTHON_TABLE_VALUE, 4 },
		{ "version 3.99\n", "version 3.99\nversion 3.98\n", CPYTHON_TABLE_TWICE, 5 },
		{ "version 3.99\n", "version 3.99\nbuild-id 0\n", CPYTHON_TABLE_VALUE, 5 },
		{ "version 3.99\n", "version 3.99\nbuild-id 0G\n", CPYTHON_TABLE_VALUE, 5 },
		{ "version 3.99\n", "version 3.99\nbuild debug\n", CPYTHON_TABLE_VALUE, 5 },
		{ "thread.id 136", "thread.id", CPYTHON_TABLE_LINE, 10 },
		{ "thread.id 136", "thread.id 136 8", CPYTHON_TABLE_LINE, 10 },
		{ "thread.id 136", "thread.name 136", CPYTHON_TABLE_KEY, 10 },
		{ "thread.id 136", "thread.id 0x88", CPYTHON_TABLE_VALUE, 10 },
		{ "thread.id 136", "thread.id -8", CPYTHON_TABLE_VALUE, 10 },
		{ "thread.id 136", "thread.id 65536", CPYTHON_TABLE_VALUE, 10 },
		{ "thread.id 136", "thread.id 99999999999999999999", CPYTHON_TABLE_VALUE, 10 },
		{ "thread.id 136", "thread.id 136\nthread.id 136", CPYTHON_TABLE_TWICE, 11 },
		{ "thread.id 136", "", CPYTHON_TABLE_MISSING, 0 },
		{ "place address", "place here", CPYTHON_TABLE_VALUE, 17 },
		{ "place address", "place 2", CPYTHON_TABLE_VALUE, 17 },
		{ "segment shim", "segment none", CPYTHON_TABLE_VALUE, 18 },
		{ "thread.link 56", "", CPYTHON_TABLE_LINK, 0 },
		{ "link.frame 0", "", CPYTHON_TABLE_LINK, 0 },
		{ "frame.end 70", "", CPYTHON_TABLE_LINK, 0 },
		{ "segment shim", "segment entry", CPYTHON_TABLE_LINK, 0 },
		{ "frame.code 0", "frame.code 4", CPYTHON_TABLE_WINDOW, 0 },
		{ "frame.code 0", "frame.code 112", CPYTHON_TABLE_VALUE, 13 },
		{ "code.name 128", "code.name 8", CPYTHON_TABLE_WINDOW, 0 },
		{ "code.name 128", "code.name 144", CPYTHON_TABLE_WINDOW, 0 },
		{ "code.first 192\n", "", CPYTHON_TABLE_WINDOW, 0 },
		{ "text.shift 2\n", "text.shift 2\nobject.extra 4\n", CPYTHON_TABLE_WINDOW, 0 },
		{ "text.shift 2\n", "text.shift 32\n", CPYTHON_TABLE_VALUE, 27 },
		{ "text.shift 2\n", "text.shift 2\ncode.tag 8\n", CPYTHON_TABLE_VALUE, 28 },
	};
	static char large[CPYTHON_TABLE_BYTES_MAX + 1];

	(void)state;
	assert_int_equal(parse(TABLE("3.99")), CPYTHON_TABLE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum cpython_table_fault fault = parse_with(rows[i].line, rows[i].instead);

		if (fault != rows[i].fault || table.line != rows[i].at)
			fail_msg("row %zu (%s): %s, line %u", i, rows[i].instead,
				cpython_table_text(fault), table.line);
	}
	assert_int_equal(parse(""), CPYTHON_TABLE_HEAD);
	memset(large, '\n', sizeof(large));
	memcpy(large, "stoker-table 1", 14);
	cpython_table_parse(large, sizeof(large), &table);
	assert_int_equal(table.fault, CPYTHON_TABLE_TEXT);
	large[20] = '\0';
	cpython_table_parse(large, 40, &table);
	assert_int_equal(table.fault, CPYTHON_TABLE_TEXT);
}

/* What another process sends is asked again. */
static void numbers_of_a_liar_are_refused(void **state)
{
	struct cpython_table lie;

	(void)state;
	assert_int_equal(parse(TABLE("3.99")), CPYTHON_TABLE_OK);
	lie = table;
	lie.version = 0;
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VERSION);
	lie = table;
	lie.release = 0x030b00f0; /* of 3.11 */
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VERSION);
	lie = table;
	lie.build_id_len = BUILD_ID_BYTES_MAX + 1;
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VERSION);
	lie = table;
	lie.given[KEY_THREAD_ID] = 2;
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VALUE);
	lie = table;
	lie.values[KEY_SEGMENT_KIND] = SEGMENT_SHIM + 1;
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VALUE);
	lie = table;
	lie.values[KEY_FRAME_COPY] = 60; /* without its key */
	assert_int_equal(cpython_table_check(&lie), CPYTHON_TABLE_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_says_what_a_built_in_row_says),
		cmocka_unit_test(a_table_is_for_its_version),
		cmocka_unit_test(a_table_for_a_build_is_for_no_other),
		cmocka_unit_test(what_is_no_table_is_refused_for_its_reason),
		cmocka_unit_test(numbers_of_a_liar_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
