/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tick_times.c - BPF counts ticks by slots of time; the percentile is found here, over the
 * slots of all CPUs. A slot is an eighth of a power of two, so that is how exact it is. */
#include "sampler/tick_times.h"

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
