/* SPDX-License-Identifier: Apache-2.0 */
/* base/cursor.c - bounded reads with a sticky error. Every other reader is built on take_bytes().
 */
#include "base/cursor.h"

#include <string.h>

#define LEB_BYTES_MAX 10

static const uint8_t *take_bytes(struct cursor *c, size_t len)
{
	const uint8_t *at = c->at;

	if (c->bad || len > (size_t)(c->end - c->at)) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return at;
}

uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = take_bytes(c, 1);

	return p ? *p : 0;
}

uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = take_bytes(c, sizeof(uint16_t));
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap16(v) : v;
}

uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = take_bytes(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap32(v) : v;
}

uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = take_bytes(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap64(v) : v;
}

uint64_t cursor_uleb(struct cursor *c)
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
	const uint8_t *p = take_bytes(c, len);

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
	take_bytes(c, len);
}

void cursor_seek(struct cursor *c, size_t offset)
{
	if (c->bad || offset > (size_t)(c->end - c->start)) {
		c->bad = true;
		return;
	}
	c->at = offset > 0 ? c->start + offset : c->start; /* also of nothing, NULL */
}

struct cursor cursor_sub(struct cursor *c, size_t len)
{
	const uint8_t *p = take_bytes(c, len);
	struct cursor sub = cursor_init(p ? p : c->end, p ? len : 0);

	sub.swap = c->swap;
	sub.bad = !p;
	return sub;
}
