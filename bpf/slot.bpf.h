/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/slot.bpf.h - caches that all CPUs share without a lock. The hash of the key chooses the slot,
 * and whoever comes last has it. The slot's tag covers key and content: a slot that two CPUs wrote
 * at once is of no key. The hash begins with a secret, so nobody can make a key that has the slot
 * or the tag of another. Nothing depends on what a slot holds but the time of a tick. */
#pragma once

#include "bpf/shim.h"

/* Odd factors. User space sets others, which nobody knows, before it loads the programs. */
#ifdef __bpf__
const volatile __u64 mix_before = 0x9e3779b97f4a7c15, mix_after = 0xbf58476d1ce4e5b9;
#else
static const u64 mix_before = 0x9e3779b97f4a7c15, mix_after = 0xbf58476d1ce4e5b9;
#endif

/* One step of a hash. A program chooses the frames of its stack, and another's would have the same
 * hash if two frames differed so that the second step undid what the first made of it. With one
 * factor the highest bit passes as it is, whatever the factor and the hash are: so it is folded
 * down, and multiplied again. */
static __always_inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * mix_before;
	hash = (hash ^ (hash >> 32)) * mix_after;
	return hash ^ (hash >> 29);
}

static __always_inline u32 slot_index(u64 hash, u32 shift)
{
	return hash >> (64 - shift);
}

static __always_inline u64 slot_tag(u64 hash, const u64 *words, u32 len)
{
	UNROLL
	for (u32 i = 0; i < len; i++)
		hash = mix(hash, words[i]);
	return hash;
}

/* Copies the content of a slot, which another CPU may be writing; true: it is of this hash. */
static __always_inline bool slot_read(
	u64 hash, const u64 *tag, const u64 *from, u64 *words, u32 len)
{
	UNROLL
	for (u32 i = 0; i < len; i++)
		words[i] = *(const volatile u64 *)&from[i];
	return *(const volatile u64 *)tag == slot_tag(hash, words, len);
}

static __always_inline void slot_write(u64 hash, u64 *tag, u64 *to, const u64 *words, u32 len)
{
	UNROLL
	for (u32 i = 0; i < len; i++)
		to[i] = words[i];
	*tag = slot_tag(hash, words, len);
}
