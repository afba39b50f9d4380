/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/object_id.bpf.h - ids that a CPU gives without asking the others: Linux 5.10 has no atomic
 * fetch. An object id is of one object at a time. They are used in turn, and come again after
 * millions; one that user space has not given back yet is passed over, since frames of the old
 * object may still be named by it. Compiles for the host, too. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

#define OBJECT_ID_TRIES 8 /* for one object; the next meeting goes on from there */

/* The next id of a task, a code or a count. After 2^32 they begin anew, and as stride is a power of
 * two, each CPU has its own again. */
static __always_inline u32 id_next(u32 *counter, u32 stride, u32 cpu)
{
	return OBJECT_FIRST + (*counter)++ * stride + cpu;
}

/* A bit for each id that is in use. BPF sets it, user space clears it. A program that gives the
 * last ids alone has bits for those. */
#ifndef OBJECT_IDS_WORDS
#define OBJECT_IDS_WORDS OBJECT_ID_WORDS
#endif
__u64 object_ids[OBJECT_IDS_WORDS] = {};

/* The ids of a CPU's ticks, of the scan or of visits: first + own, then each `stride` later, below
 * first + len. */
struct object_id_range {
	u32 first, stride, own, len;
};

/* Only the owner of a range takes an id of it, so a clear bit can be set by an addition: Linux 5.10
 * has no other atomic operation. */
static __always_inline bool object_id_take(u32 id)
{
	u64 *word = &object_ids[id / 64 & (OBJECT_IDS_WORDS - 1)], bit = 1ULL << (id & 63);

	if (*(volatile u64 *)word & bit)
		return false;
	__sync_fetch_and_add(word, bit);
	return true;
}

static __always_inline void object_id_give(u32 id)
{
	__sync_fetch_and_add(&object_ids[id / 64 & (OBJECT_IDS_WORDS - 1)], -(1ULL << (id & 63)));
}

/* OBJECT_NONE: those that were tried are in use. */
static __always_inline u32 object_id_next(u32 *counter, const struct object_id_range *range)
{
	for (u32 i = 0; i < OBJECT_ID_TRIES; i++) {
		u64 id = OBJECT_FIRST + (u64)*counter * range->stride + range->own;

		(*counter)++;
		if (id >= range->len)
			*counter = 0;
		else if (object_id_take(range->first + id))
			return range->first + id;
	}
	return OBJECT_NONE;
}
