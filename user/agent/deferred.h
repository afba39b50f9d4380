/* SPDX-License-Identifier: Apache-2.0 */
/* agent/deferred.h - deferred samples: their walk met a file before its table was ready. User space
 * finishes each when the table is ready, with the process's mappings as they were soon after the
 * tick. At the interval's end, or when too many wait, an unfinished sample is kept as it is: then
 * those of the account that has most (base/share.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define DEFERRED_BYTES_MAX (8U << 20)

struct deferred;
struct objects;
struct sampler;
struct tally;
struct worker_client;

struct deferred_stats {
	uint64_t deferred; /* samples */
	uint64_t finished; /* walked to their end */
	uint64_t crowded;  /* given up for lack of room, and mappings of processes that were */
};

/* objects: files whose code is read where no table helps. worker: compiles pages of rows. */
int deferred_new(struct sampler *sampler, struct tally *tally, struct objects *objects,
	struct worker_client *worker, struct deferred **out);
void deferred_free(struct deferred *deferred);
/* Copies the event, for which this account pays. It is not finished here, because the ring is being
 * read. */
int deferred_put(
	struct deferred *deferred, const struct event_deferred *event, uint64_t account);
/* Records the mappings of a process that has just started a new file: its samples may have to wait
 * for longer than it lives. Its files become objects too. Not while its account owes time for files
 * (files/file_time.h), which pays for the look. */
void deferred_watch(struct deferred *deferred, struct event_exec event, uint64_t account);
/* Records the mappings of processes with deferred samples, and finishes the samples that are
 * ready. */
void deferred_finish(struct deferred *deferred);
/* The same, and gives up the others: no sample is deferred afterwards. */
void deferred_flush(struct deferred *deferred);
/* When deferred_finish must be called at the latest. CLOCK_NEVER_NS: not for what waits now. */
uint64_t deferred_due_ns(const struct deferred *deferred);
size_t deferred_waiting(const struct deferred *deferred);
void deferred_stats(const struct deferred *deferred, struct deferred_stats *out);
