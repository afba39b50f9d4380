/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/split.bpf.h - measures the parts of a tick for tools/bench. A build with STOKER_SPLIT reads
 * the clock at each change of part; other builds contain nothing of it. Reading the clock costs
 * time too, the same at each change; tools/bench subtracts it by comparing with the usual build. */
#pragma once

#include "bpf/shim.h"

enum split_part {
	SPLIT_OTHER,   /* filters, registers, task key */
	SPLIT_KERNEL,  /* the kernel half */
	SPLIT_MAPPING, /* address to mapping and file */
	SPLIT_SEARCH,  /* offset to rule */
	SPLIT_READS,   /* rule to caller: reads of the stack */
	SPLIT_HASH,    /* push frames and hash them */
	SPLIT_SHIP,    /* task key, counts, sending new stacks and tasks */
	SPLIT_NOTHING, /* counts the ticks */
	SPLIT_PARTS,
};

#ifdef STOKER_SPLIT
#define SPLIT_CPUS 64

/* By CPU: start of the part, its number, then time and number of turns of each part. */
#define SPLIT_LAST_NS 0
#define SPLIT_PART 1
#define SPLIT_SUMS 2
#define SPLIT_WORDS (SPLIT_SUMS + 2 * SPLIT_PARTS)

__u64 splits[SPLIT_CPUS][SPLIT_WORDS] = {};

static __always_inline void split(enum split_part part)
{
	u64 *of = splits[bpf_get_smp_processor_id() & (SPLIT_CPUS - 1)];
	u64 now = bpf_ktime_get_ns(), was = of[SPLIT_PART];

	if (of[SPLIT_LAST_NS] && was < SPLIT_PARTS) {
		of[SPLIT_SUMS + 2 * was] += now - of[SPLIT_LAST_NS];
		of[SPLIT_SUMS + 2 * was + 1]++;
	}
	of[SPLIT_PART] = part;
	of[SPLIT_LAST_NS] = now;
}

static __always_inline void split_end(void)
{
	split(SPLIT_NOTHING);
	split(SPLIT_OTHER);
	splits[bpf_get_smp_processor_id() & (SPLIT_CPUS - 1)][SPLIT_LAST_NS] = 0;
}
#else
#define split(part) ((void)0)
#define split_end() ((void)0)
#endif
