/* SPDX-License-Identifier: Apache-2.0 */
/* base/cursor.c - bounded reads with a sticky error. Every other reader is built on cursor_take().
 */
#include "base/cursor.h"

#include <string.h>

#define LEB_BYTES_MAX 10

uint64_t cursor_uleb_long(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < LEB_BYTES_MAX; i++) {
		uint8_t byte = cursor_u8(c);

		if (c->bad)
			return 0;
		if (i == LEB_BYTES_MAX - 1 && (byte & 0x7e))
			break;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < LEB_BYTES_MAX; i++) {
		uint8_t byte = cursor_u8(c);
		unsigned int shift = 7 * i;

		if (c->bad)
			return 0;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			value |= ~0ULL << (shift + 7);
		return (int64_t)value;
	}
	c->bad = true;
	return 0;
}

const char *cursor_str(struct cursor *c)
{
	const uint8_t *nul = c->bad ? NULL : memchr(c->at, '\0', (size_t)(c->end - c->at));
	const char *text = (const char *)c->at;

	if (!nul) {
		c->bad = true;
		return "";
	}
	c->at = nul + 1;
	return text;
}
