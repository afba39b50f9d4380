/* SPDX-License-Identifier: Apache-2.0 */
/* base/utf8.c - well-formed sequences only: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Invisible characters that change the layout of other text are refused too: in a table
 * or a graph one name could reverse its neighbours. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

static bool in(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

size_t utf8_char_len(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	unsigned char low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
	size_t len = in(c[0], 0xc2, 0xdf) ? 2
		: in(c[0], 0xe0, 0xef)    ? 3
		: in(c[0], 0xf0, 0xf4)    ? 4
					  : 0;

	if (in(c[0], 0x01, 0x7f))
		return 1;
	if (len == 0 || !in(c[1], low, high))
		return 0;
	for (size_t i = 2; i < len; i++)
		if (!in(c[i], 0x80, 0xbf))
			return 0;
	return len;
}

/* U+061C, U+200E to U+200F, U+2028 to U+202E, U+2066 to U+2069: direction and line ends; U+FFFE and
 * U+FFFF, which XML does not have. */
static bool turns_text(const unsigned char *c, size_t len)
{
	if (len == 2)
		return c[0] == 0xd8 && c[1] == 0x9c;
	if (len != 3)
		return false;
	if (c[0] == 0xe2 && c[1] == 0x80)
		return in(c[2], 0x8e, 0x8f) || in(c[2], 0xa8, 0xae);
	if (c[0] == 0xe2 && c[1] == 0x81)
		return in(c[2], 0xa6, 0xa9);
	return c[0] == 0xef && c[1] == 0xbf && in(c[2], 0xbe, 0xbf);
}

static bool is_control(const char *text, size_t len)
{
	const unsigned char *c = (const unsigned char *)text;

	return (len == 1 && (c[0] < 0x20 || c[0] == 0x7f)) ||
		(len == 2 && c[0] == 0xc2 && c[1] < 0xa0) || turns_text(c, len);
}

/* The length of the first character; 0: it is to be replaced. */
static size_t clean_len(const char *text)
{
	size_t len = utf8_char_len(text);

	return len > 0 && !is_control(text, len) ? len : 0;
}

int utf8_put_clean(struct buf *out, const char *text)
{
	int err = 0;

	while (*text && err == 0) {
		size_t run = 0, len;

		while (text[run] && (len = clean_len(text + run)) > 0)
			run += len;
		err = buf_put(out, text, run);
		text += run;
		if (!*text || err < 0)
			break;
		err = buf_putc(out, '?');
		len = utf8_char_len(text);
		text += len ? len : 1;
	}
	return err;
}

void utf8_clean(char *text)
{
	char *to = text;

	while (*text) {
		size_t len = utf8_char_len(text);
		bool clean = len > 0 && !is_control(text, len);

		if (clean)
			memmove(to, text, len);
		else
			*to = '?';
		to += clean ? len : 1;
		text += len ? len : 1;
	}
	*to = '\0';
}
