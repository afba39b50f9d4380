/* SPDX-License-Identifier: Apache-2.0 */
/* profile/words.c - lines and words of a text that need not end in a newline (base/line.h reads
 * what programs may still be writing). The cursor never leaves the text; parts of it are not
 * copied. */
#include "profile/words.h"

#include <string.h>

#include "base/line.h"

bool words_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct bytes words_line(struct cursor *text)
{
	const uint8_t *end = memchr(text->at, '\n', cursor_left(text));
	struct bytes line = cursor_bytes(text, end ? (size_t)(end - text->at) : cursor_left(text));

	if (end)
		cursor_skip(text, 1);
	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	return line;
}

struct bytes words_next(struct cursor *line)
{
	line_blanks(line);
	return line_word(line);
}

bool words_number(struct cursor *c, uint64_t *out)
{
	uint64_t value = 0;
	size_t digits = 0;

	for (; cursor_left(c) > 0 && *c->at >= '0' && *c->at <= '9'; digits++) {
		if (value > UINT64_MAX / 10 - 1)
			return false;
		value = value * 10 + (uint64_t)(cursor_u8(c) - '0');
	}
	*out = value;
	return digits > 0;
}

bool words_hex(struct bytes word, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;

	for (size_t i = 0; i < word.len; i++) {
		const char *digit = word.data[i] ? strchr(digits, word.data[i] | 0x20) : NULL;

		if (!digit || word.len > 16)
			return false;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*out = value;
	return word.len > 0;
}

bool words_is(struct bytes b, const char *text)
{
	return b.len == strlen(text) && (b.len == 0 || memcmp(b.data, text, b.len) == 0);
}

bool words_begins(struct bytes b, const char *text)
{
	return b.len >= strlen(text) && memcmp(b.data, text, strlen(text)) == 0;
}

bool words_ends(struct bytes b, const char *text)
{
	size_t n = strlen(text);

	return b.len >= n && memcmp(b.data + b.len - n, text, n) == 0;
}

bool words_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; len > 0 && (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}
