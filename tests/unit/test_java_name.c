/* SPDX-License-Identifier: Apache-2.0 */
/* test_java_name.c - names and lines of HotSpot's code. The tables of lines are made by the rules
 * of each version. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "language/code_name.h"

static struct event_code code_of(const char *class, const char *name)
{
	struct event_code code = { .language = LANGUAGE_HOTSPOT,
		.version = 17,
		.name_width = 1,
		.file_width = 1,
		.name_bytes = (uint16_t)strlen(name),
		.file_bytes = (uint16_t)strlen(class) };

	memcpy(code.name, name, strlen(name));
	memcpy(code.file, class, strlen(class));
	return code;
}

static void a_name_is_class_and_method(void **state)
{
	static const struct {
		const char *class, *name, *text;
	} rows[] = {
		{ "java/util/TreeMap", "put", "java.util.TreeMap.put" },
		{ "java/util/HashMap$Node", "<init>", "java.util.HashMap$Node.<init>" },
		{ "Main", "lambda$main$0", "Main.lambda$main$0" },
		{ "Main$$Lambda+0x00007f5c0c001a40", "run", "Main$$Lambda.run" },
		{ "Main$$Lambda$14/0x0000000800c031f0", "run", "Main$$Lambda.run" },
		{ "Main$$Lambda$14", "run", "Main$$Lambda.run" },
		{ "Main$$Lambda$", "run", "Main$$Lambda$.run" },
		{ "Main$$Lambda$1a", "run", "Main$$Lambda$1a.run" },
		{ "java/lang/invoke/LambdaForm$MH/0x0000000800c10000", "invoke",
			"java.lang.invoke.LambdaForm$MH.invoke" },
		{ "caf\xc3\xa9/B", "\xe4\xb8\xad", "caf\xc3\xa9.B.\xe4\xb8\xad" },
		/* half of a pair; cut in a character; a zero; what spoils a line */
		{ "A", "\xed\xa0\x80", "A.\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "A", "b\xe4\xb8", "A.b\xef\xbf\xbd\xef\xbf\xbd" },
		{ "A", "b\xc0\x80", "A.b\xef\xbf\xbd\xef\xbf\xbd" },
		{ "A\n", "b\x1b", "A?.b?" },
		{ "", "StubRoutines (2)", "[StubRoutines]" },
		{ "", "Interpreter", "[Interpreter]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct event_code code = code_of(rows[i].class, rows[i].name);
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		assert_int_equal(code_put_name(&code, &text), 0);
		assert_string_equal(buf_text(&text), rows[i].text);
	}
}

/* bytecode 0: line 10 (long entry), 5: 12, 8: 11 (long entry), 30: 200 (long) */
static void a_line_is_of_the_last_entry_before_the_place(void **state)
{
	static const struct {
		uint8_t version, bytes[24];
		uint16_t len;
	} tables[] = {
		{ 17, { 0xff, 0, 20, 5 << 3 | 2, 0xff, 6, 1, 0xff, 44, 250, 2, 0 }, 12 },
		{ 21, { 0xff, 1, 21, 5 << 3 | 2, 0xff, 7, 2, 0xff, 45, 251, 3, 0 }, 12 },
	};
	static const struct {
		uint32_t place, line;
	} rows[] = { { 0, 10 }, { 4, 10 }, { 5, 12 }, { 7, 12 }, { 8, 11 }, { 29, 11 }, { 30, 200 },
		{ 1000, 200 } };

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		struct event_code code = code_of("A", "b");

		code.version = tables[t].version;
		code.lines_bytes = tables[t].len;
		memcpy(code.lines, tables[t].bytes, tables[t].len);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			assert_int_equal(code_line(&code, rows[i].place), rows[i].line);
		/* Its end is missing: what comes after it may have another line. */
		code.lines_bytes = 8;
		assert_int_equal(code_line(&code, 4), 10);
		assert_int_equal(code_line(&code, 30), 0);
		code.lines_bytes = 0;
		assert_int_equal(code_line(&code, 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_class_and_method),
		cmocka_unit_test(a_line_is_of_the_last_entry_before_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
