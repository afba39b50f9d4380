/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/extents.c - a sorted array of free parts; there are few of them, so a walk is cheap. */
#include "unwind/extents.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int extents_init(struct extents *e, uint64_t start, uint64_t len, uint64_t boundary)
{
	uint64_t end = start + len;

	*e = (struct extents){ .boundary = boundary };
	while (start < end) {
		uint64_t next = boundary ? (start / boundary + 1) * boundary : end;
		struct extent *part = vec_add(&e->free);

		if (!part) {
			extents_done(e);
			return -ENOMEM;
		}
		next = next < end ? next : end;
		*part = (struct extent){ start, next - start };
		start = next;
	}
	return 0;
}

void extents_done(struct extents *e)
{
	vec_done(&e->free);
}

static void remove_at(struct extents *e, size_t i)
{
	memmove(e->free.data + i, e->free.data + i + 1,
		(e->free.len - i - 1) * sizeof(*e->free.data));
	e->free.len--;
}

int extents_take(struct extents *e, uint64_t len, uint64_t *start)
{
	/* Each of those taken may come back as a free part of its own. */
	if (vec_reserve(&e->free, e->free.len + e->taken + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < e->free.len; i++) {
		struct extent *part = &e->free.data[i];

		if (part->len < len)
			continue;
		*start = part->start;
		part->start += len;
		part->len -= len;
		if (part->len == 0)
			remove_at(e, i);
		e->used += len;
		e->taken++;
		return 0;
	}
	return -ENOSPC;
}

bool extents_has(const struct extents *e, uint64_t len)
{
	vec_each (&e->free, part)
		if (part->len >= len)
			return true;
	return false;
}

/* May the two be one? Not across a boundary. */
static bool joins(const struct extents *e, const struct extent *a, const struct extent *b)
{
	return a->start + a->len == b->start && (!e->boundary || b->start % e->boundary != 0);
}

void extents_give(struct extents *e, uint64_t start, uint64_t len)
{
	size_t i = 0;
	struct extent *added = vec_add(&e->free);

	assert(added); /* extents_take() made the room */
	(void)added;
	while (i < e->free.len - 1 && e->free.data[i].start < start)
		i++;
	memmove(e->free.data + i + 1, e->free.data + i,
		(e->free.len - 1 - i) * sizeof(*e->free.data));
	e->free.data[i] = (struct extent){ start, len };
	e->used -= len;
	e->taken--;
	if (i + 1 < e->free.len && joins(e, &e->free.data[i], &e->free.data[i + 1])) {
		e->free.data[i].len += e->free.data[i + 1].len;
		remove_at(e, i + 1);
	}
	if (i > 0 && joins(e, &e->free.data[i - 1], &e->free.data[i])) {
		e->free.data[i - 1].len += e->free.data[i].len;
		remove_at(e, i);
	}
}
