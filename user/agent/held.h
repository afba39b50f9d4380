/* SPDX-License-Identifier: Apache-2.0 */
/* agent/held.h - samples whose walk met a file before its table was there. Each is finished in
 * user space when the table is, with the process's mappings as they were soon after the tick; at
 * the interval's end, or when too many wait, one that still cannot be finished is kept as it
 * stands. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define HELD_BYTES_MAX (8U << 20)

struct held;
struct objects;
struct sampler;
struct tally;

struct held_stats {
	uint64_t held;     /* samples */
	uint64_t finished; /* walked to an end of their own */
};

/* objects: the files whose code a walk looks at where no table helps. */
int held_new(
	struct sampler *sampler, struct tally *tally, struct objects *objects, struct held **out);
void held_free(struct held *held);
/* Takes a copy. Not finished here: it is called while the ring is read. */
int held_put(struct held *held, const struct event_held *event);
/* Notes the mappings of a process that has just begun to run a new file: its samples may have to
 * wait for longer than it lives. Its files are met by the way. */
void held_watch(struct held *held, uint32_t tgid, uint64_t start_ns);
/* Notes the mappings of processes that have samples waiting, and finishes what can be. */
void held_finish(struct held *held);
/* The same, and gives up on the rest: nothing waits afterwards. */
void held_flush(struct held *held);
size_t held_waiting(const struct held *held);
void held_stats(const struct held *held, struct held_stats *out);
