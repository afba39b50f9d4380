/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/native_format.c - an array has blocks of 16, each a binary tree whose nodes have a bit for
 * each existing half. A hash table is an index of buckets with entries that point backwards or
 * forwards by relative offsets. Cursors keep all offsets within the bytes. */
#include "dotnet/native_format.h"

#include <errno.h>

#define BLOCK 16

/* The bytes of a number of n + 1 bytes, n of them after the first, whose low n + 1 bits are the
 * tag. */
static uint32_t number(struct cursor *c, uint32_t *bits)
{
	uint32_t first = cursor_u8(c), value, extra = 0;

	while (extra < 4 && (first >> extra & 1))
		extra++;
	if (extra == 4) {
		if (first & 16)
			c->bad = true;
		*bits = 32;
		return cursor_u32(c);
	}
	value = first >> (extra + 1);
	for (uint32_t i = 0; i < extra; i++)
		value |= (uint32_t)cursor_u8(c) << (7 - extra + 8 * i);
	*bits = 7 - extra + 8 * extra;
	return value;
}

uint32_t native_format_unsigned(struct cursor *c)
{
	uint32_t bits;

	return number(c, &bits);
}

int32_t native_format_signed(struct cursor *c)
{
	uint32_t bits, value = number(c, &bits);

	if (bits < 32 && (value >> (bits - 1) & 1))
		value |= UINT32_MAX << bits;
	return (int32_t)value;
}

/* An offset in an index whose entries have 1, 2 or 4 bytes. */
static uint32_t read_index(struct cursor *c, uint8_t index_size)
{
	return index_size == 0 ? cursor_u8(c) : index_size == 1 ? cursor_u16(c) : cursor_u32(c);
}

bool native_array_init(struct native_array *array, struct bytes bytes)
{
	struct cursor c = cursor_init(bytes.data, bytes.len);
	uint32_t head = native_format_unsigned(&c);

	if (c.bad || (head & 3) == 3)
		return false;
	*array = (struct native_array){ .bytes = bytes,
		.base = (uint32_t)cursor_offset(&c),
		.len = head >> 2,
		.index_size = head & 3 };
	return true;
}

bool native_array_find(const struct native_array *array, uint32_t index, struct cursor *out)
{
	struct cursor c = cursor_init(array->bytes.data, array->bytes.len);
	uint32_t width = 1U << array->index_size;

	if (index >= array->len)
		return false;
	cursor_seek(&c, array->base + (size_t)(index / BLOCK) * width);
	cursor_seek(&c, (size_t)array->base + read_index(&c, array->index_size));
	for (uint32_t bit = BLOCK / 2; bit > 0 && !c.bad; bit /= 2) {
		size_t node_at = cursor_offset(&c);
		uint32_t node = native_format_unsigned(&c);

		if (index & bit && node & 2) {
			cursor_seek(&c, node_at + (node >> 2));
		} else if (!(index & bit) && node & 1) {
			continue;
		} else {
			/* here is the only element of this half, with its number */
			if ((node & 3) != 0 || node >> 2 != (index & (BLOCK - 1)))
				return false;
			break;
		}
	}
	*out = c;
	return !c.bad;
}

struct walk {
	struct bytes bytes;
	size_t base;
	uint32_t left; /* entries that may still be seen */
	int (*take)(void *ctx, struct cursor entry);
	void *ctx;
};

static int walk_bucket(struct walk *w, size_t start, size_t end)
{
	struct cursor c = cursor_init(w->bytes.data, w->bytes.len);
	int err = 0;

	cursor_seek(&c, start);
	while (err == 0 && !c.bad && cursor_offset(&c) < end && w->left > 0) {
		struct cursor entry = cursor_init(w->bytes.data, w->bytes.len);
		size_t from;

		cursor_skip(&c, 1); /* low bits of the hash */
		from = cursor_offset(&c);
		cursor_seek(&entry, from + (size_t)native_format_signed(&c));
		if (c.bad || entry.bad)
			return -EBADMSG;
		w->left--;
		err = w->take(w->ctx, entry);
	}
	return err < 0 ? err : c.bad ? -EBADMSG : 0;
}

int native_table_walk(struct bytes bytes, uint32_t entries_max,
	int (*take)(void *ctx, struct cursor entry), void *ctx)
{
	struct cursor c = cursor_init(bytes.data, bytes.len);
	uint8_t head = cursor_u8(&c), index_size = head & 3;
	uint64_t buckets = 1ULL << (head >> 2 & 31);
	struct walk w = { bytes, cursor_offset(&c), entries_max, take, ctx };
	uint32_t start = read_index(&c, index_size);
	int err = 0;

	if (c.bad || index_size == 3 || head >> 2 > 31)
		return -EBADMSG;
	for (uint64_t i = 0; err == 0 && i < buckets; i++) {
		uint32_t end = read_index(&c, index_size);

		if (c.bad)
			return -EBADMSG;
		err = walk_bucket(&w, w.base + start, w.base + end);
		start = end;
	}
	return err;
}
