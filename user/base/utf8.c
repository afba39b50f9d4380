/* SPDX-License-Identifier: Apache-2.0 */
/* base/utf8.c - well-formed sequences only: no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#include "base/utf8.h"

#include <stdbool.h>

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

static bool is_control(const char *text, size_t len)
{
	const unsigned char *c = (const unsigned char *)text;

	return (len == 1 && (c[0] < 0x20 || c[0] == 0x7f)) ||
		(len == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

int utf8_put_clean(struct buf *out, const char *text)
{
	while (*text) {
		size_t len = utf8_char_len(text);
		bool clean = len > 0 && !is_control(text, len);
		int err = clean ? buf_put(out, text, len) : buf_putc(out, '?');

		if (err < 0)
			return err;
		text += len ? len : 1;
	}
	return 0;
}
