/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - text of strangers, as it is written to files and terminals. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/own.h"
#include "base/utf8.h"

static const struct {
	const char *text, *clean;
} rows[] = {
	{ "", "" },
	{ "plain", "plain" },
	{ "Gr\xc3\xb6\xc3\x9f"
	  "e \xe2\x86\x92 \xf0\x9f\x8d\xa9",
		"Gr\xc3\xb6\xc3\x9f"
		"e \xe2\x86\x92 \xf0\x9f\x8d\xa9" },
	{ "\x1b[2J\x1b]0;title\x07", "?[2J?]0;title?" },
	{ "a\r\nb\tc\x7f", "a??b?c?" },
	{ "\xc2\x9b"
	  "31m", /* U+009B: CSI in one character */
		"?31m" },
	{ "\x9b"
	  "31m", /* and in one byte */
		"?31m" },
	{ "\xe2\x80\xae"
	  "txt.exe", /* U+202E: right to left */
		"?txt.exe" },
	{ "\xc3", "?" },
	{ "\xc3(\xff\xfe", "?(??" },
	{ "\xe0\x80\xaf\xed\xa0\x80", "??????" }, /* overlong; a surrogate */
	{ "\xf4\x90\x80\x80", "????" },
};

static void what_is_no_clean_text_is_a_question_mark(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		char *copy = strdup(rows[i].text);

		assert_int_equal(utf8_put_clean(&out, rows[i].text), 0);
		assert_int_equal(buf_putc(&out, '\0'), 0);
		utf8_clean(copy);
		if (strcmp(out.data, rows[i].clean) != 0 || strcmp(copy, rows[i].clean) != 0)
			fail_msg("row %zu: %s, %s", i, out.data, copy);
		free(copy);
	}
}

/* What a log function puts on stderr. */
static void logged(void (*say)(struct log *log, const char *fmt, ...), const char *text, char *line,
	size_t size)
{
	struct log log = { 0 };
	int pipes[2], saved = dup(STDERR_FILENO);
	ssize_t len;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	say(&log, "%s", text);
	dup2(saved, STDERR_FILENO);
	close(pipes[1]);
	len = read(pipes[0], line, size - 1);
	line[len > 0 ? len : 0] = '\0';
	close(pipes[0]);
	close(saved);
}

static void a_log_line_is_one_line_of_clean_text(void **state)
{
	static void (*const says[])(
		struct log *, const char *, ...) = { log_error, log_warn, log_note };
	char line[4096], want[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(says); j++) {
			logged(says[j], rows[i].text, line, sizeof(line));
			snprintf(want, sizeof(want), "%s\n", rows[i].clean);
			assert_true(strlen(line) >= strlen(want));
			assert_string_equal(line + strlen(line) - strlen(want), want);
		}
	}
}

static void a_long_log_line_is_cut_between_characters(void **state)
{
	char text[4096] = "", line[4096], *end;

	(void)state;
	for (int i = 0; i < 1000; i++)
		memcpy(text + 3 * (size_t)i, "\xe2\x86\x92", 4);
	logged(log_error, text, line, sizeof(line));
	end = line + strlen(line) - 1;
	assert_int_equal(*end, '\n');
	*end = '\0';
	for (const char *p = line; *p; p += utf8_char_len(p))
		assert_true(utf8_char_len(p) > 0);
}

static void rounding_makes_no_share_none_or_all(void **state)
{
	static const struct {
		uint64_t part, whole;
		const char *text;
	} shares[] = {
		{ 0, 0, "0.00" },
		{ 0, 7, "0.00" },
		{ 7, 7, "100.00" },
		{ 1, 3, "33.33" },
		{ 1, 100000, "<0.01" },
		{ 1, 20000, "0.01" },
		{ 99999, 100000, ">99.99" },
		{ 9999, 10000, "99.99" },
		{ UINT64_MAX, UINT64_MAX, "100.00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		buf_put_percent(&text, shares[i].part, shares[i].whole);
		assert_string_equal(buf_text(&text), shares[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_clean_text_is_a_question_mark),
		cmocka_unit_test(a_log_line_is_one_line_of_clean_text),
		cmocka_unit_test(a_long_log_line_is_cut_between_characters),
		cmocka_unit_test(rounding_makes_no_share_none_or_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
