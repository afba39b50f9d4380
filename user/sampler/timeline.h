/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/timeline.h - when each tick of an interval was, where times are kept.
 * BPF tells a tick with the id of its key, and the key's meaning when its map is drained: until
 * then the tick is pending. A cut takes the ticks before a moment, in the order of time over all
 * CPUs; those after it, which were told earlier than others or had to wait, are of the next
 * interval, so that intervals written one behind the other are in order too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/hash.h"
#include "base/vec.h"

#define TIMELINE_TICKS_MAX 2000000 /* 32 MB; those beyond are counted and have no time */

struct timeline_tick {
	uint64_t time_ns;
	uint32_t count; /* index in the tally's counts; of a pending one the key's id */
	uint32_t cpu;
};

/* What is counted, by index; of struct tally. */
struct timeline_counts {
	uint64_t *(*at)(void *ctx, uint32_t index);
	void *ctx;
};

struct timeline {
	VEC(struct timeline_tick) pending, ticks;
	struct hash by_id;    /* id → index in the tally's counts */
	struct hash overflow; /* id → how many ticks over the limit */
	size_t pending_old;   /* of pending, those that were there at the last drain's end */
	size_t due;           /* of ticks, those before the cut */
	uint64_t unit_ns;     /* times are whole numbers of it; 0: as they are */
	uint64_t last_ns;     /* the last cut */
	uint64_t dropped;     /* in this interval: counted, without a time */
};

/* The unit of times for clocks of this rate: a power of ten, a hundredth of the period or less. How
 * late an interrupt comes differs by as much, and times that say no more are told in less. */
uint64_t timeline_unit_ns(uint32_t hz);
/* Down to a whole number of units. */
uint64_t timeline_round(const struct timeline *timeline, uint64_t time_ns);

void timeline_done(struct timeline *timeline);
/* Ticks that are here. */
size_t timeline_len(const struct timeline *timeline);
/* 0 or -ENOMEM. */
int timeline_tick(struct timeline *timeline, const struct event_tick *event);
int timeline_key(struct timeline *timeline, uint32_t id, uint32_t count);
/* One whose count is known. False: over the limit, and counted by the caller. */
bool timeline_add(struct timeline *timeline, uint32_t count, uint32_t cpu, uint64_t time_ns);
/* Behind a drain: ticks get the keys that were told. Returns how many have a key that never was
 * told; last: no drain will follow. Those over the limit are added to *counts. */
uint64_t timeline_resolve(
	struct timeline *timeline, bool last, const struct timeline_counts *counts);
/* Sorts ticks, and sets due to those before until_ns; UINT64_MAX: to all. None of them is before
 * the cut before. */
void timeline_cut(struct timeline *timeline, uint64_t until_ns);
/* Forgets those that were due. The others stay; their counts are to be moved by the caller. */
void timeline_next(struct timeline *timeline);
