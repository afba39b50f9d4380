/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/cover.c - a sweep over the starts, with a heap of the open ranges. Closed ranges are
 * removed when they reach the top; each step adds or removes at least one. Invariant: pieces rise
 * strictly and neighbours differ. */
#include "dwarf/cover.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct sweep {
	struct cover *out;
	const struct cover_range **heap;
	size_t heap_len;
};

/* ---- heap ----------------------------------------------------------------------------------- */

static bool is_before(const struct cover_range *a, const struct cover_range *b)
{
	return a->depth != b->depth ? a->depth > b->depth : a->owner < b->owner;
}

static void swap(struct sweep *s, size_t a, size_t b)
{
	const struct cover_range *kept = s->heap[a];

	s->heap[a] = s->heap[b];
	s->heap[b] = kept;
}

static void push(struct sweep *s, const struct cover_range *range)
{
	size_t at = s->heap_len++;

	s->heap[at] = range;
	for (; at > 0 && is_before(s->heap[at], s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(s, at, (at - 1) / 2);
}

static void pop(struct sweep *s)
{
	size_t at = 0;

	s->heap[0] = s->heap[--s->heap_len];
	for (;;) {
		size_t best = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < s->heap_len && is_before(s->heap[child], s->heap[best]))
				best = child;
		if (best == at)
			return;
		swap(s, at, best);
		at = best;
	}
}

/* ---- sweep ---------------------------------------------------------------------------------- */

static int put_piece(struct cover *out, uint64_t at, uint32_t owner)
{
	struct cover_piece *last = out->pieces.len ? &out->pieces.data[out->pieces.len - 1] : NULL;

	if ((last && last->owner == owner) || at - out->base > UINT32_MAX)
		return 0;
	if (!last || last->start != at - out->base)
		last = vec_add(&out->pieces);
	if (!last)
		return -ENOMEM;
	*last = (struct cover_piece){ (uint32_t)(at - out->base), owner };
	return 0;
}

static int sweep(struct sweep *s, const struct cover_range *ranges, size_t len)
{
	uint64_t at = s->out->base;
	size_t i = 0;
	int err = 0;

	while (err == 0) {
		while (s->heap_len > 0 && s->heap[0]->end <= at)
			pop(s);
		if (s->heap_len == 0 && i == len)
			return put_piece(s->out, at, COVER_NONE);
		if (s->heap_len == 0 && ranges[i].start > at) {
			err = put_piece(s->out, at, COVER_NONE);
			at = ranges[i].start;
		}
		for (; i < len && ranges[i].start == at; i++)
			if (ranges[i].end > at)
				push(s, &ranges[i]);
		if (err < 0 || s->heap_len == 0)
			continue;
		if (s->heap[0]->end <= at)
			continue;
		err = put_piece(s->out, at, s->heap[0]->owner);
		at = s->heap[0]->end;
		if (i < len && ranges[i].start < at)
			at = ranges[i].start;
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct cover_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int cover_make(struct cover_range *ranges, size_t len, struct cover *out)
{
	struct cover made = { 0 };
	struct sweep s = { .out = &made };
	int err;

	if (len == 0) {
		*out = made;
		return 0;
	}
	qsort(ranges, len, sizeof(*ranges), by_start);
	made.base = ranges[0].start;
	s.heap = calloc(len, sizeof(struct cover_range *));
	err = s.heap ? sweep(&s, ranges, len) : -ENOMEM;
	free(s.heap);
	if (err < 0)
		cover_done(&made);
	else
		*out = made;
	return err;
}

void cover_done(struct cover *cover)
{
	vec_done(&cover->pieces);
}

uint32_t cover_find(const struct cover *cover, uint64_t address)
{
	size_t low = 0, high = cover->pieces.len;

	if (address < cover->base || address - cover->base > UINT32_MAX)
		return COVER_NONE;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cover->pieces.data[middle].start <= address - cover->base)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? COVER_NONE : cover->pieces.data[low - 1].owner;
}
