/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/visitor.h - the iterator of bpf/visit.bpf.c, loaded beside a sampler: each pass gives a
 * record of every thread of the sampler's target, with the stacks of those that have switched since
 * the last pass. Loading takes rights that are given up afterwards; a pass takes those that an
 * agent keeps. Files, tables, codes and tasks that a stack names come as the sampler's own events,
 * before the record does; each stack is sent again after a while, at most about two minutes, and in
 * each epoch (sampler_forget). The target and the pid namespace are the sampler's. */
#pragma once

#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "base/err.h"

struct sampler;
struct visitor;

struct visitor_stats {
	uint64_t passes, threads;
	uint64_t same, walked;   /* of the threads */
	uint64_t moved, refused; /* bpf/abi_visit.h */
	uint64_t unread;         /* walks that ended where memory could not be read */
	uint64_t walk_ns;        /* time of all walks */
	uint64_t cpu_ns;         /* of this thread, in passes without the callbacks */
	uint64_t run_ns;         /* of the program; 0 without kernel.bpf_stats_enabled */
	uint64_t memory_bytes;   /* of the maps that are not the sampler's */
};

/* The sampler must outlive it. With why: -EOPNOTSUPP: the kernel has no iterator of tasks. */
int visitor_open(struct sampler *sampler, struct visitor **out, struct why *why);
void visitor_free(struct visitor *visitor);

/* Loads it beside nothing, and ends it: what can this kernel do? 0; 1: without user halves, lacks
 * says why; as visitor_open. */
int visitor_try(struct why *lacks);

/* Why user halves end as END_UNREAD; NULL: they are walked. Valid as long as the visitor. */
const char *visitor_lacks(const struct visitor *visitor);

/* kernel and user: as many frames as the record says; waits_for: NULL: unknown. Valid during the
 * call. A negative return ends the pass. */
typedef int visitor_fn(void *ctx, const struct visit_record *record, const uint64_t *kernel,
	const uint64_t *user, const struct visit_resource *waits_for);

/* Visits all threads, and polls the sampler meanwhile. Waits for no thread: no lock of one is
 * taken, and of its memory only what is there is read. 0 or -errno; after an error, and after
 * visitor_again, all stacks are sent once more. */
int visitor_pass(struct visitor *visitor, visitor_fn *fn, void *ctx);
void visitor_again(struct visitor *visitor);

/* Stacks that no visit had time for. */
uint64_t visitor_refused(const struct visitor *visitor);
void visitor_stats(const struct visitor *visitor, struct visitor_stats *out);
