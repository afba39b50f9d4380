/* SPDX-License-Identifier: Apache-2.0 */
/* base/cursor.c - bounded reads with a sticky error. Every other reader is built on cursor_take().
 */
#include "base/cursor.h"

#include <string.h>

#define LEB_BYTES_MAX 10

uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, sizeof(uint16_t));
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap16(v) : v;
}

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

struct bytes cursor_bytes(struct cursor *c, size_t len)
{
	const uint8_t *p = cursor_take(c, len);

	return p ? (struct bytes){ p, len } : (struct bytes){ 0 };
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

void cursor_skip(struct cursor *c, size_t len)
{
	cursor_take(c, len);
}

void cursor_seek(struct cursor *c, size_t offset)
{
	if (c->bad || offset > (size_t)(c->end - c->start)) {
		c->bad = true;
		return;
	}
	c->at = offset > 0 ? c->start + offset : c->start; /* also of nothing, NULL */
}
