/* SPDX-License-Identifier: Apache-2.0 */
/* base/line.c - small readers on a cursor. They look ahead in a copy of the cursor's bounds,
 * because a call for each byte is too slow for millions of lines. */
#include "base/line.h"

#include <string.h>

bool line_next(struct cursor *c, struct cursor *line)
{
	size_t left = cursor_left(c);
	const uint8_t *newline = left > 0 ? memchr(c->at, '\n', left) : NULL;

	if (!newline)
		return false;
	*line = cursor_sub(c, (size_t)(newline - c->at));
	cursor_skip(c, 1);
	return true;
}

static unsigned int digit(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10U : 16;
}

bool line_hex(struct cursor *line, uint64_t *out)
{
	struct bytes rest = { line->at, cursor_left(line) };
	uint64_t value = 0;
	size_t i = 0, first;

	if (rest.len > 2 && rest.data[0] == '0' && (rest.data[1] | 0x20) == 'x')
		i = 2;
	for (first = i; i < rest.len && digit(rest.data[i]) < 16; i++) {
		if (value >> 60)
			return false;
		value = value << 4 | digit(rest.data[i]);
	}
	if (i == first)
		return false;
	cursor_skip(line, i);
	*out = value;
	return true;
}

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t';
}

bool line_blanks(struct cursor *line)
{
	struct bytes rest = { line->at, cursor_left(line) };
	size_t i = 0;

	while (i < rest.len && is_blank(rest.data[i]))
		i++;
	cursor_skip(line, i);
	return i > 0;
}

struct bytes line_rest(struct cursor *line)
{
	return cursor_bytes(line, cursor_left(line));
}

struct bytes line_word(struct cursor *line)
{
	struct bytes rest = { line->at, cursor_left(line) };
	size_t i = 0;

	while (i < rest.len && !is_blank(rest.data[i]))
		i++;
	return cursor_bytes(line, i);
}
