/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tick_counts.h - the counts of ticks of each CPU, and the histograms of their times
 * (bpf/abi_ticks.h). BPF counts in memory that is mapped here, so reading needs no system call and
 * no copy, whatever the number of possible CPUs. */
#pragma once

#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

struct tick_counts {
	struct tick_stats *cpus; /* mapped; NULL: closed */
	uint32_t len;
};

/* map_fd: the array, which the caller keeps. 0 or -errno. */
int tick_counts_open(struct tick_counts *counts, int map_fd, uint32_t cpus);
void tick_counts_close(struct tick_counts *counts);
void tick_counts_sum(const struct tick_counts *counts, struct tick_stats *out);

/* Time that a part of a tick took, over all samples. */
struct tick_time {
	uint64_t longest_ns;
	uint64_t p999_ns; /* 99.9 % took less; 12.5 % too much at most */
};

void tick_times_add(struct tick_times *sum, const struct tick_times *one);
/* The least time that so many thousandths of all ticks did not exceed, rounded up to the end of its
 * slot, but not above the longest. 0: no ticks. */
uint64_t tick_times_permille(const struct tick_times *times, uint32_t permille);
