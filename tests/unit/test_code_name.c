/* SPDX-License-Identifier: Apache-2.0 */
/* test_code_name.c - names and lines of CPython's code. The tables of lines are those that each
 * version made of one function; what they say is from the version's own dis or co_positions. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "language/code_name.h"

static struct event_code code_of(const char *file, const char *name)
{
	struct event_code code = { .language = LANGUAGE_CPYTHON,
		.version = 11,
		.name_width = 1,
		.file_width = 1,
		.name_bytes = (uint16_t)strlen(name),
		.file_bytes = (uint16_t)strlen(file) };

	memcpy(code.name, name, strlen(name));
	memcpy(code.file, file, strlen(file));
	return code;
}

static void a_name_is_module_and_qualified_name(void **state)
{
	static const struct {
		const char *file, *name, *text;
	} rows[] = {
		{ "/usr/lib/python3.11/json/decoder.py", "JSONDecoder.decode",
			"json.decoder:JSONDecoder.decode" },
		{ "/usr/lib/python3.11/json/__init__.py", "loads", "json:loads" },
		{ "/usr/lib/python3/dist-packages/yaml/reader.py", "Reader.peek",
			"yaml.reader:Reader.peek" },
		{ "/srv/venv/lib/python3.13/site-packages/django/db/models/query.py", "f",
			"django.db.models.query:f" },
		{ "/venv/lib/python3.13t/threading.py", "f", "threading:f" },
		{ "/opt/lib/python/own.py", "f", "own:f" },
		{ "/usr/lib64/python3.9/asyncio/events.py", "f", "asyncio.events:f" },
		{ "/opt/app/python3.12/asyncio/events.py", "f", "asyncio.events:f" },
		{ "/opt/python3/own.py", "f", "own:f" },
		{ "/opt/app.zip/server/views.py", "f", "server.views:f" },
		{ "/lib/python3.9/site-packages/six-1.0-py3.9.egg/six/moves.py", "f",
			"six.moves:f" },
		{ "/app/server/views.py", "View.get.<locals>.<lambda>",
			"views:View.get.<locals>.<lambda>" },
		{ "/app/server/__init__.py", "f", "server:f" },
		{ "main.py", "<module>", "main:<module>" },
		{ "/app/tool", "<module>", "tool:<module>" },
		{ "/app/cached.pyc", "f", "cached:f" },
		{ "<frozen importlib._bootstrap>", "_find_and_load",
			"importlib._bootstrap:_find_and_load" },
		{ "<string>", "<module>", "<string>:<module>" },
		{ "<frozen ", "f", "<frozen :f" },
		{ "", "f", ":f" },
		{ "/", "f", ":f" },
		{ "/__init__.py", "f", ":f" },
		{ "/app/a\nb.py", "f\x1b[m", "a?b:f?[m" },
		{ "/app/caf\xe9.py", "f", "caf\xc3\xa9:f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct event_code code = code_of(rows[i].file, rows[i].name);
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		assert_int_equal(code_put_name(&code, &text), 0);
		assert_string_equal(buf_text(&text), rows[i].text);
	}
}

static void characters_of_two_and_four_bytes_are_utf8(void **state)
{
	static const uint16_t two[] = { 'f', 0xe9, 0x4e2d, 0xd800 };
	static const uint32_t four[] = { 0x1f40d, 'x', 0x110000, 0x7f };
	struct event_code code = code_of("a.py", "");
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	(void)state;
	code.name_width = 2;
	code.name_bytes = sizeof(two);
	memcpy(code.name, two, sizeof(two));
	assert_int_equal(code_put_name(&code, &text), 0);
	assert_string_equal(buf_text(&text), "a:f\xc3\xa9\xe4\xb8\xad\xef\xbf\xbd");
	buf_clear(&text);
	code.name_width = 4;
	code.name_bytes = sizeof(four);
	code.name_cut = 1;
	memcpy(code.name, four, sizeof(four));
	assert_int_equal(code_put_name(&code, &text), 0);
	assert_string_equal(buf_text(&text), "a:\xf0\x9f\x90\x8dx\xef\xbf\xbd?...");
}

static void a_file_without_its_beginning_says_so_and_has_its_module(void **state)
{
	struct event_code code = code_of("n/site-packages/a/b.py", "f");
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	(void)state;
	code.file_cut = 1;
	assert_int_equal(code_put_file(&code, &text), 0);
	assert_string_equal(buf_text(&text), "...n/site-packages/a/b.py");
	buf_clear(&text);
	assert_int_equal(code_put_name(&code, &text), 0);
	assert_string_equal(buf_text(&text), "a.b:f");
}

/* ---- lines ---- */

static uint16_t parse_hex(const char *hex, uint8_t *out)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return (uint16_t)len;
}

/* lines: of each place from 0 on, in steps of `step`. */
struct table {
	uint8_t version;
	uint32_t step, len;
	const char *hex;
	const uint8_t lines[64];
};

static const struct table tables[] = {
	{ 8, 2, 25, "00010803020106fe0404080104010a01020102ff",
		{ 2, 2, 2, 2, 5, 6, 6, 6, 4, 4, 8, 8, 8, 8, 9, 9, 10, 10, 10, 10, 10, 11, 12, 11,
			11 } },
	{ 10, 1, 25, "08010203060104fe08040401080102800201020104ff",
		{ 2, 2, 2, 2, 5, 6, 6, 6, 4, 4, 8, 8, 8, 8, 9, 9, 10, 10, 10, 10, 0, 11, 12, 11,
			11 } },
	{ 11, 1, 40,
		"8000d80809884189058041f00600090ad8080988418905f0050309068041f008000e0ff000020515"
		"f0000205158801d80b0cf000010915dd0c11902189488c488848f8d80c0dd80c0df103010d0ef000"
		"01050f",
		{ 1, 2, 2, 2, 2, 2, 5, 6, 6, 6, 6, 4, 4, 8, 8, 8, 8, 9, 9, 10, 10, 10, 10, 10, 10,
			10, 10, 10, 10, 10, 10, 10, 10, 10, 0, 11, 12, 11, 11, 11 } },
	{ 12, 1, 39,
		"8000d80809884189058041f00600090ad8080988418905f0050309068041f008000e0ff200020515"
		"8801da0b0cdc0c1190218d48f005020515f006000d0ed80c0df103010d0ef00001050f",
		{ 1, 2, 2, 2, 2, 2, 5, 6, 6, 6, 6, 4, 4, 8, 8, 8, 8, 8, 9, 9, 9, 10, 10, 10, 10, 10,
			10, 10, 10, 10, 10, 10, 10, 8, 11, 12, 11, 11, 11 } },
	{ 13, 1, 47,
		"8000d80809884189058041f00600090ad8080988418905f0050309068041f308000e0f8801df0b0c"
		"8831dc0c1190218e48f105000e0ff006000d0ed80c0df103010d0ef00001050f",
		{ 1, 2, 2, 2, 2, 2, 5, 6, 6, 6, 6, 4, 4, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9,
			10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 8, 8, 11, 12, 11, 11,
			11 } },
};

static void each_place_has_the_line_that_its_version_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct table *table = &tables[i];
		struct event_code code = { .language = LANGUAGE_CPYTHON,
			.version = table->version,
			.first_line = 1 };

		code.lines_bytes = parse_hex(table->hex, code.lines);
		for (uint32_t at = 0; at < table->len; at++)
			if (code_line(&code, at * table->step) != table->lines[at])
				fail_msg("3.%u, place %u: %u", table->version, at,
					code_line(&code, at * table->step));
	}
}

static void a_table_that_is_cut_or_damaged_gives_no_wrong_line(void **state)
{
	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(tables); i++) {
		struct event_code code = { .language = LANGUAGE_CPYTHON,
			.version = tables[i].version,
			.first_line = 1 };
		uint16_t whole = parse_hex(tables[i].hex, code.lines);

		for (code.lines_bytes = 0; code.lines_bytes < whole; code.lines_bytes++)
			for (uint32_t place = 0; place < 64; place++) {
				uint32_t line = code_line(&code, place);

				assert_true(line == 0 || line == tables[i].lines[place]);
			}
	}
}

static void lines_are_positive_numbers(void **state)
{
	struct event_code code = { .language = LANGUAGE_CPYTHON, .version = 11, .first_line = 1 };

	(void)state;
	/* Without columns, one unit, two lines up. */
	code.lines[0] = 0x80 | 13 << 3;
	code.lines[1] = 2 << 1 | 1;
	code.lines_bytes = 2;
	assert_int_equal(code_line(&code, 0), 0);
	code.first_line = INT32_MAX;
	code.lines[1] = 2 << 1;
	assert_int_equal(code_line(&code, 0), 0);
	code.first_line = 10;
	assert_int_equal(code_line(&code, 0), 12);
	assert_int_equal(code_line(&code, 1), 0);
}

static void an_event_is_valid_only_as_long_as_it_says(void **state)
{
	struct event_code code = code_of("a.py", "f");
	size_t head = offsetof(struct event_code, lines);

	(void)state;
	code.lines_bytes = 10;
	assert_true(code_valid(&code, head + 10));
	assert_false(code_valid(&code, head + 9));
	assert_false(code_valid(&code, head - 1));
	code.name_width = 3;
	assert_false(code_valid(&code, head + 10));
	code.name_width = 2;
	code.name_bytes = CODE_NAME_BYTES + 1;
	assert_false(code_valid(&code, head + 10));
	code.name_bytes = 0;
	code.language = 0;
	assert_false(code_valid(&code, head + 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_module_and_qualified_name),
		cmocka_unit_test(characters_of_two_and_four_bytes_are_utf8),
		cmocka_unit_test(a_file_without_its_beginning_says_so_and_has_its_module),
		cmocka_unit_test(each_place_has_the_line_that_its_version_says),
		cmocka_unit_test(a_table_that_is_cut_or_damaged_gives_no_wrong_line),
		cmocka_unit_test(lines_are_positive_numbers),
		cmocka_unit_test(an_event_is_valid_only_as_long_as_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
