/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_name.c - a name may be cut in the middle of a character, and a table of lines in
 * the middle of an entry. */
#include "language/java_name.h"

#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "language/java_code.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* ---- names ----------------------------------------------------------------------------------- */

/* The bytes of the character at text[0..len), which is one of Java's: NUL has two bytes, and those
 * above U+FFFF are two characters of three. 0: it is none. */
static size_t character(const uint8_t *text, size_t len)
{
	size_t bytes = text[0] < 0x80		? 1
		: (text[0] & 0xe0) == 0xc0 ? 2
		: (text[0] & 0xf0) == 0xe0 ? 3
					   : 0;

	if (bytes == 0 || bytes > len)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* Half of a pair, and a longer spelling of ASCII, are no UTF-8. */
	if (bytes == 3 && text[0] == 0xed && text[1] >= 0xa0)
		return 0;
	return bytes == 2 && text[0] < 0xc2 ? 0 : bytes;
}

static void put_text(struct buf *out, const uint8_t *text, size_t len, bool is_class)
{
	for (size_t i = 0; i < len;) {
		size_t bytes = character(text + i, len - i);

		if (bytes == 0)
			buf_puts(out, REPLACEMENT);
		else if (bytes > 1)
			buf_put(out, text + i, bytes);
		else if (is_class && text[i] == '/')
			buf_putc(out, '.');
		else
			buf_putc(out, text[i] < 0x20 || text[i] == 0x7f ? '?' : (char)text[i]);
		i += bytes ? bytes : 1;
	}
}

static size_t digits(const uint8_t *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	return i;
}

/* A hidden class has the address of something at its end, and that of a lambda in older versions
 * its number, which another process gives to another one. */
static size_t class_len(const uint8_t *text, size_t len)
{
	static const char lambda[] = "$$Lambda$";
	static const char *const marks[] = { "+0x", "/0x" };
	const uint8_t *found = memmem(text, len, lambda, strlen(lambda));
	size_t at;

	for (size_t i = 0; i + 3 < len; i++)
		for (size_t m = 0; m < sizeof(marks) / sizeof(marks[0]); m++)
			if (memcmp(text + i, marks[m], 3) == 0)
				len = i;
	if (!found)
		return len;
	at = (size_t)(found - text) + strlen(lambda);
	return at < len && at + digits(text + at, len - at) == len ? at - 1 : len;
}

/* `StubRoutines (2)`: which of them says nothing. */
static int put_blob(const struct event_code *code, struct buf *out)
{
	size_t len = strnlen((const char *)code->name, code->name_bytes);
	const uint8_t *number = memmem(code->name, len, " (", 2);

	buf_putc(out, '[');
	put_text(out, code->name, number ? (size_t)(number - code->name) : len, false);
	return buf_putc(out, ']');
}

int java_put_name(const struct event_code *code, struct buf *out)
{
	if (code->file_bytes == 0)
		return put_blob(code, out);
	put_text(out, code->file, class_len(code->file, code->file_bytes), true);
	if (code->file_cut)
		buf_puts(out, "...");
	buf_putc(out, '.');
	put_text(out, code->name, code->name_bytes, false);
	if (code->name_cut)
		buf_puts(out, "...");
	return buf_err(out);
}

int java_put_text(struct buf *out, const uint8_t *text, size_t len)
{
	put_text(out, text, len, false);
	return buf_err(out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

#define LONG_ENTRY 0xff

static uint32_t positive(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* BPF may have sent the beginning of a table alone: what comes after it has no line. */
uint32_t java_line(const struct event_code *code, uint32_t place)
{
	struct cursor c = cursor_init(code->lines, code->lines_bytes);
	int64_t at = 0, line = 0, found = 0;

	while (cursor_left(&c) > 0) {
		uint8_t head = cursor_u8(&c);

		if (head == 0)
			return positive(found);
		if (head == LONG_ENTRY) {
			at += java_signed_number(&c, code->version >= 20);
			line += java_signed_number(&c, code->version >= 20);
		} else {
			at += head >> 3;
			line += head & 7;
		}
		if (c.bad)
			return 0;
		if (at > place)
			return positive(found);
		found = line;
	}
	return 0;
}
