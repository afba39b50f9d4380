/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/process_slots.bpf.h - mappings, and rules of return addresses, that ticks met, in slots
 * (bpf/slot.bpf.h). At a tick of a busy host the caches and the TLB are full of other programs'
 * data, so a tick costs what it touches: the slots of a process are in two pages of memory. To read
 * a mapping takes the nodes of its tree, the mapping, its file, inode and superblock, and the map
 * of objects; to search a rule the map of pages, the page's index and rows, and the map of rules.
 */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/slot.bpf.h"

#define PROCESS_SLOTS 64 /* processes that have slots of their own, power of two */
#define MAPPING_SLOTS_SHIFT 6
#define MAPPING_WORDS (sizeof(struct mapping) / sizeof(u64))
#define RULE_SLOTS_SHIFT 7
#define RULE_WORDS (sizeof(struct unwind_rule) / sizeof(u64))

struct mapping_slot {
	u64 tag;
	u64 words[MAPPING_WORDS]; /* struct mapping */
	u64 second;               /* in which it was read */
};

struct rule_slot {
	u64 tag;
	u64 words[RULE_WORDS]; /* struct unwind_rule */
	u32 page;              /* index in the map of pages */
	u32 second;            /* in which the page was last marked as used */
};

struct process_slots {
	struct mapping_slot mappings[1 << MAPPING_SLOTS_SHIFT];
	struct rule_slot rules[1 << RULE_SLOTS_SHIFT];
};

_Static_assert(sizeof(struct mapping_slot) == 64 && sizeof(struct rule_slot) == 32, "cache lines");
_Static_assert(sizeof(struct process_slots) == 8192, "two pages");
_Static_assert(PROCESS_SLOTS * sizeof(struct process_slots) == SLOTS_BYTES, "in the budget");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* the values begin at a page */
	__uint(max_entries, PROCESS_SLOTS);
	__type(key, u32);
	__type(value, struct process_slots);
} process_slots SEC(".maps");

static __always_inline struct mapping_slot *mapping_slot_of(const struct scratch *s, u64 hash)
{
	u32 process = s->process & (PROCESS_SLOTS - 1);
	struct process_slots *slots = bpf_map_lookup_elem(&process_slots, &process);

	return slots ? &slots->mappings[slot_index(hash, MAPPING_SLOTS_SHIFT)] : NULL;
}

static __always_inline struct rule_slot *rule_slot_of(const struct scratch *s, u64 hash)
{
	u32 process = s->process & (PROCESS_SLOTS - 1);
	struct process_slots *slots = bpf_map_lookup_elem(&process_slots, &process);

	return slots ? &slots->rules[slot_index(hash, RULE_SLOTS_SHIFT)] : NULL;
}
