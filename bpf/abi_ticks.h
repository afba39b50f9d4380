/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_ticks.h - the part of bpf/abi.h for the time that ticks take: a histogram for each part
 * of a tick. A slot is an eighth of a power of two, so that a time is known within 12.5 %. */
#pragma once

/* Parts of the limit of a tick's time; the last one is for copying and sending the sample. */
#define TICK_WALK_PARTS 8

enum tick_part {
	TICK_WHOLE,
	TICK_KERNEL, /* up to the end of the kernel half; only of ticks in the kernel */
	TICK_USER,   /* the rest: the user half, copies and sending */
	TICK_PARTS,
};

#define TICK_UNIT_SHIFT 5 /* 32 ns */
#define TICK_SLOTS 160    /* the last one has 126 ms and all above */

struct tick_times {
	__u64 longest_ns;
	__u64 slots[TICK_SLOTS];
};

/* The slot of a time. */
static inline __attribute__((always_inline)) __u32 tick_slot(__u64 ns)
{
	__u64 units = ns >> TICK_UNIT_SHIFT;
	__u32 power = 0, slot;

	if (units >> 32)
		return TICK_SLOTS - 1;
	for (__u32 step = 16; step > 0; step /= 2)
		if (units >> power >> step)
			power += step;
	if (power < 3)
		return (__u32)units;
	slot = (power - 2) * 8 + ((units >> (power - 3)) & 7);
	return slot < TICK_SLOTS ? slot : TICK_SLOTS - 1;
}

/* The first time above a slot. */
static inline __attribute__((always_inline)) __u64 tick_slot_end(__u32 slot)
{
	__u32 next = slot + 1;

	if (next < 16)
		return (__u64)next << TICK_UNIT_SHIFT;
	return (__u64)(8 + next % 8) << (next / 8 - 1) << TICK_UNIT_SHIFT;
}
