/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/timeline.c - two lists: ticks with unknown key, and ticks with known key. The drain after
 * a tick delivers its key, or the second drain for ticks that came while the map was read; an older
 * tick has lost its key. Between a tick and its event are microseconds, in which a cut may fall:
 * such a tick gets the time of the cut, so that the output is in order. */
#include "sampler/timeline.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define UNITS_A_PERIOD 100

uint64_t timeline_unit_ns(uint32_t hz)
{
	uint64_t unit_ns = 1;

	while (unit_ns * 10 <= NSEC_PER_SEC / hz / UNITS_A_PERIOD)
		unit_ns *= 10;
	return unit_ns;
}

uint64_t timeline_round(const struct timeline *t, uint64_t time_ns)
{
	return t->unit_ns ? time_ns - time_ns % t->unit_ns : time_ns;
}

void timeline_done(struct timeline *t)
{
	vec_done(&t->pending);
	vec_done(&t->ticks);
	hash_done(&t->by_id);
	hash_done(&t->overflow);
}

size_t timeline_len(const struct timeline *t)
{
	return t->pending.len + t->ticks.len;
}

int timeline_tick(struct timeline *t, const struct event_tick *event)
{
	struct timeline_tick *slot;
	uint64_t *over;

	if (timeline_len(t) >= TIMELINE_TICKS_MAX) {
		over = hash_find(&t->overflow, event->id);
		return hash_put(&t->overflow, event->id, over ? *over + 1 : 1);
	}
	slot = vec_add(&t->pending);
	if (!slot)
		return -ENOMEM;
	*slot = (struct timeline_tick){
		.time_ns = event->time_ns,
		.count = event->id,
		.cpu = event->cpu,
	};
	return 0;
}

int timeline_key(struct timeline *t, uint32_t id, uint32_t count)
{
	return hash_put(&t->by_id, id, count);
}

bool timeline_add(struct timeline *t, uint32_t count, uint32_t cpu, uint64_t time_ns)
{
	struct timeline_tick *slot =
		timeline_len(t) < TIMELINE_TICKS_MAX ? vec_add(&t->ticks) : NULL;

	if (!slot) {
		t->dropped++;
		return false;
	}
	*slot = (struct timeline_tick){
		.time_ns = timeline_round(t, time_ns),
		.count = count,
		.cpu = cpu,
	};
	return true;
}

/* False: its key is not known. */
static bool resolve_one(
	struct timeline *t, struct timeline_tick tick, const struct timeline_counts *counts)
{
	uint64_t *count = hash_find(&t->by_id, tick.count);

	if (!count)
		return false;
	if (!timeline_add(t, (uint32_t)*count, tick.cpu, tick.time_ns))
		++*counts->at(counts->ctx, (uint32_t)*count);
	return true;
}

/* Those over the limit have no age: one without a key waits for the last drain. */
static uint64_t resolve_overflow(
	struct timeline *t, bool last, const struct timeline_counts *counts)
{
	uint64_t lost = 0;

	hash_each (&t->overflow, slot) {
		uint64_t *count = hash_find(&t->by_id, slot->key);

		if (count) {
			*counts->at(counts->ctx, (uint32_t)*count) += slot->value;
			t->dropped += slot->value;
			slot->value = 0;
		} else if (last) {
			lost += slot->value;
			slot->value = 0;
		}
	}
	return lost;
}

uint64_t timeline_resolve(struct timeline *t, bool last, const struct timeline_counts *counts)
{
	uint64_t lost = resolve_overflow(t, last, counts);
	size_t len = t->pending.len, kept = 0;

	/* Those that go make room for themselves. */
	t->pending.len = 0;
	for (size_t i = 0; i < len; i++) {
		struct timeline_tick tick = t->pending.data[i];

		if (resolve_one(t, tick, counts))
			continue;
		if (last || i < t->pending_old)
			lost++;
		else
			t->pending.data[kept++] = tick;
	}
	t->pending.len = t->pending_old = kept;
	return lost;
}

static int by_time(const void *a, const void *b)
{
	const struct timeline_tick *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

void timeline_cut(struct timeline *t, uint64_t until_ns)
{
	t->due = 0;
	if (t->ticks.len > 0)
		qsort(t->ticks.data, t->ticks.len, sizeof(*t->ticks.data), by_time);
	for (; t->due < t->ticks.len && t->ticks.data[t->due].time_ns < until_ns; t->due++)
		if (t->ticks.data[t->due].time_ns < t->last_ns)
			t->ticks.data[t->due].time_ns = t->last_ns;
	t->last_ns = until_ns;
}

void timeline_next(struct timeline *t)
{
	size_t rest = t->ticks.len - t->due;

	if (rest > 0)
		memmove(t->ticks.data, t->ticks.data + t->due, rest * sizeof(*t->ticks.data));
	t->ticks.len = rest;
	t->due = 0;
	t->dropped = 0;
	hash_clear(&t->by_id);
}
