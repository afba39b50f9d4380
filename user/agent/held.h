/* SPDX-License-Identifier: Apache-2.0 */
/* agent/held.h - deferred samples: their walk met a file before its table was ready. User space
 * finishes each when the table is ready, with the process's mappings as they were soon after the
 * tick. At the interval's end, or when too many wait, an unfinished sample is kept as it is. */
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
	uint64_t finished; /* walked to their end */
};

/* objects: files whose code is read where no table helps. */
int held_new(
	struct sampler *sampler, struct tally *tally, struct objects *objects, struct held **out);
void held_free(struct held *held);
/* Copies the event. It is not finished here, because the ring is being read. */
int held_put(struct held *held, const struct event_held *event);
/* Records the mappings of a process that has just started a new file: its samples may have to wait
 * for longer than it lives. Its files become objects too. */
void held_watch(struct held *held, uint32_t tgid, uint64_t start_ns);
/* Records the mappings of processes with deferred samples, and finishes the samples that are
 * ready. */
void held_finish(struct held *held);
/* The same, and gives up the others: no sample is deferred afterwards. */
void held_flush(struct held *held);
size_t held_waiting(const struct held *held);
void held_stats(const struct held *held, struct held_stats *out);
