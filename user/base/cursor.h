/* SPDX-License-Identifier: Apache-2.0 */
/* base/cursor.h - the only way to read untrusted bytes.
 * A cursor never leaves its bytes. The first read beyond them sets `bad`; from then on every read
 * returns 0 (or an empty run), so a parser may read a whole record and check once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *start;
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
	bool swap; /* the bytes have the other byte order */
};

struct bytes {
	const uint8_t *data;
	size_t len;
};

static inline struct cursor cursor_init(const void *data, size_t len)
{
	const uint8_t *p = data;

	/* NULL and 0 is an empty cursor */
	return (struct cursor){ .start = p, .at = p, .end = len > 0 ? p + len : p };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->at);
}

static inline size_t cursor_offset(const struct cursor *c)
{
	return (size_t)(c->at - c->start);
}

/* The next len bytes, or NULL and bad. Valid as long as the cursor's bytes. Inline, as the
 * reads below: tables are read word by word. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t len)
{
	const uint8_t *at = c->at;

	if (c->bad || len > (size_t)(c->end - c->at)) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return at;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 1);

	return p ? *p : 0;
}

uint16_t cursor_u16(struct cursor *c);

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap64(v) : v;
}

uint64_t cursor_uleb_long(struct cursor *c);
/* DWARF 5 §7.6. More than 64 bits of value, or no end, is bad. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	if (!c->bad && c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_uleb_long(c);
}

int64_t cursor_sleb(struct cursor *c);

/* The next len bytes, or an empty run and bad. Valid as long as the cursor's bytes. */
struct bytes cursor_bytes(struct cursor *c, size_t len);

/* A NUL-terminated string inside the bytes; "" and bad when no NUL follows. */
const char *cursor_str(struct cursor *c);
void cursor_skip(struct cursor *c, size_t len);

/* To an offset from the start; beyond the end is bad. */
void cursor_seek(struct cursor *c, size_t offset);

/* The next len bytes as a cursor of their own (same byte order); empty and bad when short. */
static inline struct cursor cursor_sub(struct cursor *c, size_t len)
{
	const uint8_t *p = cursor_take(c, len);
	struct cursor sub = cursor_init(p ? p : c->end, p ? len : 0);

	sub.swap = c->swap;
	sub.bad = !p;
	return sub;
}
