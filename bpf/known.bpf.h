/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/known.bpf.h - remembers the stacks and tasks that were sent, in slots that all CPUs share
 * without a lock. Whoever lost its slot to another is sent again. A slot holds for one epoch: user
 * space raises `epoch` and keeps all that was used since the one before began
 * (user/sampler/tally.h), so no slot promises a thing that is gone. A stack has its slots in one
 * page of memory, a task has them in one cache line. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/slot.bpf.h"

#define KNOWN_WAYS 4 /* slots for one key: what comes next takes any of them */
#define KNOWN_ANY_SHIFT 6 /* the lowest bits of a clock may not move */

/* ---- stacks: by their hash, which nobody can choose ------------------------------------------ */

#define STACK_PAGES_SHIFT 7
#define STACK_SETS_SHIFT 7

struct known_stacks {
	u64 sets[1 << STACK_SETS_SHIFT][KNOWN_WAYS];
};

_Static_assert(sizeof(struct known_stacks) == 4096, "a page");
_Static_assert(sizeof(struct known_stacks) << STACK_PAGES_SHIFT == KNOWN_STACKS_BYTES, "budget");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* the values begin at a page */
	__uint(max_entries, 1 << STACK_PAGES_SHIFT);
	__type(key, u32);
	__type(value, struct known_stacks);
} stacks SEC(".maps");

/* The page of a stack and of all stacks that differ from it in the leaf only. */
static __always_inline struct known_stacks *known_stacks_of(u64 below_leaf)
{
	u32 page = slot_index(below_leaf, STACK_PAGES_SHIFT);

	return bpf_map_lookup_elem(&stacks, &page);
}

static __always_inline u64 *known_set(struct known_stacks *page, u64 hash)
{
	return page->sets[slot_index(hash << STACK_PAGES_SHIFT, STACK_SETS_SHIFT)];
}

static __always_inline bool stack_known(struct known_stacks *page, u64 hash)
{
	const volatile u64 *set = known_set(page, hash);
	u64 mark = mix(hash, epoch);

	return set[0] == mark || set[1] == mark || set[2] == mark || set[3] == mark;
}

/* Call it after the stack was sent. any: chooses the slot that gives way. */
static __always_inline void stack_note(struct known_stacks *page, u64 hash, u64 any)
{
	known_set(page, hash)[any & (KNOWN_WAYS - 1)] = mix(hash, epoch);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

#define TASK_SETS_SHIFT 12
#define TASK_WORDS 1

struct known_task {
	u64 tag;
	u64 word; /* epoch << 32 | id */
};

struct known_tasks {
	struct known_task ways[KNOWN_WAYS];
};

_Static_assert(sizeof(struct known_tasks) == 64, "a cache line");
_Static_assert(sizeof(struct known_tasks) << TASK_SETS_SHIFT == KNOWN_TASKS_BYTES, "budget");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* the values begin at a page */
	__uint(max_entries, 1 << TASK_SETS_SHIFT);
	__type(key, u32);
	__type(value, struct known_tasks);
} tasks SEC(".maps");

static __always_inline u64 task_hash(const struct task_key *key)
{
	/* Not from 0: an empty slot would be of the hash 0. */
	return slot_tag(
		mix(stacks_secret, 1), (const u64 *)key, sizeof(*key) / sizeof(u64));
}

static __always_inline struct known_tasks *known_tasks_of(u64 hash)
{
	u32 set = slot_index(hash, TASK_SETS_SHIFT);

	return bpf_map_lookup_elem(&tasks, &set);
}

/* The task's slot with *word; NULL: it has none. */
static __always_inline struct known_task *task_known(struct known_tasks *set, u64 hash, u64 *word)
{
	UNROLL
	for (u32 i = 0; i < KNOWN_WAYS; i++) {
		struct known_task *way = &set->ways[i];

		if (slot_read(hash, &way->tag, &way->word, word, TASK_WORDS))
			return way;
	}
	return NULL;
}
