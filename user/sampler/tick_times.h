/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tick_times.h - the histograms of bpf/abi_ticks.h: their sum, and percentiles. */
#pragma once

#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

/* Time that a part of a tick took, over all samples. */
struct tick_time {
	uint64_t longest_ns;
	uint64_t p999_ns; /* 99.9 % took less; 12.5 % too much at most */
};

void tick_times_add(struct tick_times *sum, const struct tick_times *one);
/* The least time that so many thousandths of all ticks did not exceed, rounded up to the end of its
 * slot, but not above the longest. 0: no ticks. */
uint64_t tick_times_permille(const struct tick_times *times, uint32_t permille);
