/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/timeline.h - the times of an interval's ticks, if times are kept.
 * BPF sends a tick with the id of its key, and the key itself when its map is drained; in between
 * the tick is pending. A cut takes the ticks before a moment, in order of time over all CPUs. Later
 * ticks belong to the next interval, so that consecutive intervals are in order too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/hash.h"
#include "base/vec.h"

#define TIMELINE_TICKS_MAX 2000000 /* 32 MB; further ticks are counted without a time */

struct timeline_tick {
	uint64_t time_ns;
	uint32_t count; /* index in the tally's counts; of a pending tick the key's id */
	uint32_t cpu;
};

/* Access to struct tally's counts, by index. */
struct timeline_counts {
	uint64_t *(*at)(void *ctx, uint32_t index);
	void *ctx;
};

struct timeline {
	VEC(struct timeline_tick) pending, ticks;
	struct hash by_id;    /* id → index in the tally's counts */
	struct hash overflow; /* id → number of ticks over the limit */
	size_t pending_old;   /* pending ticks that existed at the end of the latest drain */
	size_t due;           /* ticks before the cut */
	uint64_t unit_ns;     /* resolution of times; 0: full */
	uint64_t last_ns;     /* the latest cut */
	uint64_t dropped;     /* in this interval: counted without a time */
};

/* The resolution of times at this rate: a power of ten, at most a hundredth of the period.
 * Interrupt latency varies by as much, and rounded times need less space. */
uint64_t timeline_unit_ns(uint32_t hz);
/* Rounds down to a whole number of units. */
uint64_t timeline_round(const struct timeline *timeline, uint64_t time_ns);

void timeline_done(struct timeline *timeline);
/* Number of ticks, pending ones included. */
size_t timeline_len(const struct timeline *timeline);
/* 0 or -ENOMEM. */
int timeline_tick(struct timeline *timeline, const struct event_tick *event);
int timeline_key(struct timeline *timeline, uint32_t id, uint32_t count);
/* Adds a tick whose count is known. False: over the limit; the caller counts it. */
bool timeline_add(struct timeline *timeline, uint32_t count, uint32_t cpu, uint64_t time_ns);
/* Call it after a drain: ticks get the keys that have arrived. Returns the number of ticks whose
 * key never arrived; last: no drain will follow. Ticks over the limit are added to *counts. */
uint64_t timeline_resolve(
	struct timeline *timeline, bool last, const struct timeline_counts *counts);
/* Sorts ticks, and sets due to the number before until_ns; UINT64_MAX: all. None is before the
 * previous cut. */
void timeline_cut(struct timeline *timeline, uint64_t until_ns);
/* Removes the due ticks. The others stay; the caller moves their counts. */
void timeline_next(struct timeline *timeline);
