/* SPDX-License-Identifier: Apache-2.0 */
/* language/code_name.c - characters come in one, two or four bytes each. A table of lines is read
 * up to the place, and its end may be missing. */
#include "language/code_name.h"

#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "language/java_name.h"

#define LNOTAB_UP_TO 9
#define LINETABLE_UP_TO 10

bool code_valid(const struct event_code *code, size_t size)
{
	const uint8_t widths[] = { code->name_width, code->file_width };

	if (size < offsetof(struct event_code, lines) || code->language < LANGUAGE_CPYTHON ||
		code->language > LANGUAGE_HOTSPOT ||
		code->name_bytes > CODE_NAME_BYTES || code->file_bytes > CODE_FILE_BYTES ||
		code->lines_bytes > CODE_LINES_BYTES ||
		size - offsetof(struct event_code, lines) < code->lines_bytes)
		return false;
	for (size_t i = 0; i < sizeof(widths); i++)
		if (widths[i] != 1 && widths[i] != 2 && widths[i] != 4)
			return false;
	return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

#define REPLACEMENT 0xfffd

static int put_character(struct buf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x20 || c == 0x7f)
		c = '?';
	if (c < 0x80)
		return buf_putc(out, (char)c);
	if (c < 0x800) {
		buf_putc(out, (char)(0xc0 | c >> 6));
		return buf_putc(out, (char)(0x80 | (c & 0x3f)));
	}
	if (c < 0x10000) {
		buf_putc(out, (char)(0xe0 | c >> 12));
	} else {
		buf_putc(out, (char)(0xf0 | c >> 18));
		buf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	}
	buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	return buf_putc(out, (char)(0x80 | (c & 0x3f)));
}

static int put_text(struct buf *out, const uint8_t *data, size_t bytes, uint8_t width)
{
	for (size_t i = 0; i + width <= bytes; i += width) {
		uint32_t c = 0;

		memcpy(&c, data + i, width); /* little-endian, as the process */
		put_character(out, c);
	}
	return buf_err(out);
}

int code_put_file(const struct event_code *code, struct buf *out)
{
	if (code->language == LANGUAGE_HOTSPOT)
		return 0; /* the class is in the name */
	if (code->file_cut)
		buf_puts(out, "...");
	return put_text(out, code->file, code->file_bytes, code->file_width);
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t len, const char *end)
{
	return len >= strlen(end) && memcmp(text + len - strlen(end), end, strlen(end)) == 0;
}

/* Is the folder at the end of text[0..len) one that modules are imported from? */
static bool ends_as_library(const char *text, size_t len)
{
	static const char *const names[] = { "/site-packages/", "/dist-packages/", ".zip/", ".egg/",
		".whl/", ".pyz/", ".pex/" };
	size_t digits;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ends_with(text, len, names[i]))
			return true;
	if (len == 0 || text[len - 1] != '/')
		return false;
	for (digits = 1; digits < len && strchr("0123456789.t", text[len - 1 - digits]); digits++)
		;
	len -= digits;
	return digits > 1 && (ends_with(text, len, "/lib/python") ||
			ends_with(text, len, "/lib64/python") ||
			(ends_with(text, len, "/python") && memcmp(text + len, "3.", 2) == 0));
}

/* Where the module's path begins in a file's path: after the folder of a library, else at the last
 * part, as nobody knows from where a program imports its own. */
static size_t module_begins(const char *path, size_t len)
{
	size_t last = 0;

	for (size_t i = len; i > 0; i--) {
		if (path[i - 1] != '/')
			continue;
		if (last == 0)
			last = i;
		if (ends_as_library(path, i))
			return i;
	}
	return last;
}

/* `<frozen importlib._bootstrap>` is a module; `<string>` is where code came from. */
static int put_odd_module(struct buf *out, const char *path, size_t len)
{
	static const char frozen[] = "<frozen ";

	if (len > sizeof(frozen) && memcmp(path, frozen, sizeof(frozen) - 1) == 0 &&
		path[len - 1] == '>')
		return buf_put(out, path + sizeof(frozen) - 1, len - sizeof(frozen));
	return buf_put(out, path, len);
}

static int put_module(struct buf *out, const char *path, size_t len)
{
	static const char package[] = "/__init__";
	size_t begins;

	if (len == 0 || path[0] == '<')
		return put_odd_module(out, path, len);
	if (ends_with(path, len, ".py") || ends_with(path, len, ".pyc"))
		len -= ends_with(path, len, ".py") ? 3 : 4;
	/* A package is its folder. */
	if (ends_with(path, len, package))
		len -= sizeof(package) - 1;
	begins = module_begins(path, len);
	for (size_t i = begins; i < len; i++)
		buf_putc(out, path[i] == '/' ? '.' : path[i]);
	return buf_err(out);
}

int code_put_name(const struct event_code *code, struct buf *out)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;
	int err;

	if (code->language == LANGUAGE_HOTSPOT)
		return java_put_name(code, out);
	err = put_text(&path, code->file, code->file_bytes, code->file_width);
	if (err < 0)
		return err;
	put_module(out, buf_text(&path), path.len);
	buf_putc(out, ':');
	put_text(out, code->name, code->name_bytes, code->name_width);
	if (code->name_cut)
		buf_puts(out, "...");
	return buf_err(out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static uint32_t varint(struct cursor *c)
{
	uint32_t value = 0, shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 32)
			value |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return value;
}

static int64_t signed_varint(struct cursor *c)
{
	uint32_t value = varint(c);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum location {
	LOCATION_ONE_LINE = 10, /* the line; the next two: one or two below */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* Reads the rest of an entry: how much its line is below the one before. */
static int64_t location_delta(struct cursor *c, uint8_t kind)
{
	int64_t delta = 0;

	if (kind < LOCATION_ONE_LINE) {
		cursor_skip(c, 1);
	} else if (kind < LOCATION_NO_COLUMNS) {
		delta = kind - LOCATION_ONE_LINE;
		cursor_skip(c, 2);
	} else if (kind != LOCATION_NONE) {
		delta = signed_varint(c);
		for (int i = 0; i < 3 && kind == LOCATION_LONG; i++)
			varint(c);
	}
	return delta;
}

/* CPython 3.11 and up. */
static int64_t located_line(struct cursor *c, int64_t line, uint32_t place)
{
	uint64_t end = 0;

	while (cursor_left(c) > 0) {
		uint8_t head = cursor_u8(c), kind = head >> 3 & 15;

		line += location_delta(c, kind);
		end += (head & 7) + 1U;
		if (c->bad)
			return 0;
		if (place < end)
			return kind == LOCATION_NONE ? 0 : line;
	}
	return 0;
}

#define NO_LINE (-128)

/* CPython 3.10: each pair is a range. */
static int64_t ranged_line(struct cursor *c, int64_t line, uint32_t place)
{
	uint64_t end = 0;

	while (cursor_left(c) > 0) {
		int8_t delta;

		end += cursor_u8(c);
		delta = (int8_t)cursor_u8(c);
		line += delta == NO_LINE ? 0 : delta;
		if (!c->bad && 2ULL * place < end)
			return delta == NO_LINE ? 0 : line;
	}
	return 0;
}

/* CPython 3.8 and 3.9: each pair is a step. */
static int64_t stepped_line(struct cursor *c, int64_t line, uint32_t place, bool is_cut)
{
	uint64_t at = 0;

	while (cursor_left(c) > 1) {
		at += cursor_u8(c);
		if (at > place)
			return line;
		line += (int8_t)cursor_u8(c);
	}
	return is_cut ? 0 : line;
}

uint32_t code_line(const struct event_code *code, uint32_t place)
{
	struct cursor c = cursor_init(code->lines, code->lines_bytes);
	int64_t line = code->first_line;

	if (code->language == LANGUAGE_HOTSPOT)
		return java_line(code, place);
	if (code->version <= LNOTAB_UP_TO)
		line = stepped_line(&c, line, place, code->lines_bytes == CODE_LINES_BYTES);
	else if (code->version <= LINETABLE_UP_TO)
		line = ranged_line(&c, line, place);
	else
		line = located_line(&c, line, place);
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
