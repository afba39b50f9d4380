/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tick_counts.c - counts grow while they are read: each is whole, and they need not be of
 * one moment. */
#include "sampler/tick_counts.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/own.h"

void tick_times_add(struct tick_times *sum, const struct tick_times *one)
{
	for (uint32_t i = 0; i < TICK_SLOTS; i++)
		sum->slots[i] += one->slots[i];
	if (one->longest_ns > sum->longest_ns)
		sum->longest_ns = one->longest_ns;
}

uint64_t tick_times_permille(const struct tick_times *times, uint32_t permille)
{
	uint64_t all = 0, above;
	uint32_t slot = TICK_SLOTS;

	for (uint32_t i = 0; i < TICK_SLOTS; i++)
		all += times->slots[i];
	if (all == 0)
		return 0;
	above = all / 1000 * (1000 - permille) + all % 1000 * (1000 - permille) / 1000;
	while (slot > 0 && times->slots[slot - 1] <= above)
		above -= times->slots[--slot];
	if (slot == 0 || slot == TICK_SLOTS || tick_slot_end(slot - 1) > times->longest_ns)
		return times->longest_ns;
	return tick_slot_end(slot - 1);
}

int tick_counts_open(struct tick_counts *counts, int map_fd, uint32_t cpus)
{
	void *mapped = mmap(NULL, cpus * sizeof(*counts->cpus), PROT_READ, MAP_SHARED, map_fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	*counts = (struct tick_counts){ mapped, cpus };
	return 0;
}

void tick_counts_close(struct tick_counts *counts)
{
	if (counts->cpus)
		munmap(counts->cpus, counts->len * sizeof(*counts->cpus));
	counts->cpus = NULL;
}

void tick_counts_sum(const struct tick_counts *counts, struct tick_stats *out)
{
	*out = (struct tick_stats){ 0 };
	for (uint32_t cpu = 0; cpu < counts->len; cpu++) {
		const struct tick_stats *one = &counts->cpus[cpu];

		out->ticks += one->ticks;
		out->samples += one->samples;
		out->idle += one->idle;
		out->filtered += one->filtered;
		for (size_t i = 0; i < ARRAY_SIZE(one->lost); i++)
			out->lost[i] += one->lost[i];
		for (size_t i = 0; i < TICK_PARTS; i++)
			tick_times_add(&out->times[i], &one->times[i]);
	}
}
