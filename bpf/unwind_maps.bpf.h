/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/unwind_maps.bpf.h - the tables that user space publishes, and the lookup of a rule by file
 * offset. User space writes a page's data before its place, so BPF never sees half a page. It
 * reuses a place's memory only when all ticks that may have it have ended. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/process_slots.bpf.h"
#include "bpf/slot.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/sample_maps.bpf.h"

struct rows_slab {
	u8 bytes[ROWS_SLAB_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rows_slab);
} row_slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ROWS_PAGES_MAX);
	__type(key, u32);
	__type(value, struct rows_page);
} row_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ROWS_RULES_MAX);
	__type(key, u32);
	__type(value, struct unwind_rule);
} row_rules SEC(".maps");

/* Raised when an object's table appears or disappears: cached mappings are then stale. */
__u32 tables_epoch = 0;
/* Raised when a table that was searched is taken back: rules in slots are then stale. */
__u32 rules_epoch = 0;
/* The clock of `used` (SECOND_SHIFT). Ticks set it, as user space may sleep for long. */
__u32 second = 1;

static __always_inline void second_set(u64 now_ns)
{
	u32 now = (now_ns >> SECOND_SHIFT) + 1;

	if (second != now)
		second = now;
}

/* Requests a page once, and again at the next need if the event could not be sent. */
static __always_inline void page_ask(struct scratch *s, struct rows_page *page, u32 index)
{
	struct event_page event = {
		.kind = EVENT_PAGE,
		.object = s->at.object,
		.page = index,
	};

	if (page->place != ROWS_PAGE_ABSENT)
		return;
	/* Marked before sending: user space may answer at once, and its answer must not be
	 * overwritten. */
	page->place = ROWS_PAGE_ASKED;
	if (emit(&event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		page->place = ROWS_PAGE_ABSENT;
}

#define RULE_SECONDS 4 /* then the page that a rule came from is marked as used */

/* Copies the rule in the slot of this hash into s->rule. */
static __always_inline bool rule_recall(struct scratch *s, u64 hash)
{
	struct rule_slot *slot = rule_slot_of(s, hash);
	struct rows_page *page;
	u32 index;

	if (!slot || !slot_read(hash, &slot->tag, slot->words, s->rule, RULE_WORDS))
		return false;
	if (second - slot->second < RULE_SECONDS)
		return true;
	slot->second = second;
	index = slot->page;
	page = bpf_map_lookup_elem(&row_pages, &index);
	if (page && page->used != second)
		page->used = second;
	return true;
}

/* Puts s->rule into the slot of this hash. */
static __always_inline void rule_remember(struct scratch *s, u64 hash, u32 page)
{
	struct rule_slot *slot = rule_slot_of(s, hash);

	if (!slot)
		return;
	slot_write(hash, &slot->tag, slot->words, s->rule, RULE_WORDS);
	slot->page = page;
	slot->second = second;
}

/* END_NONE: *rule is the rule at this offset of s->at's file, NULL outside functions. END_NO_TABLE:
 * its page is absent and was requested. */
static __always_inline u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	u32 index = (u32)(offset >> ROWS_PAGE_SHIFT) - s->at.page_first, place, slab, id;
	const struct unwind_rule *found;
	struct shim_rows rows;
	struct rows_page *page;
	u64 hash = 0;

	*rule = NULL;
	if (index >= s->at.pages_len)
		return END_NONE;
	if (!s->regs.exact) {
		hash = mix(stacks_secret + rules_epoch,
			(u64)s->at.object << FRAME_OBJECT_SHIFT | offset);
		if (rule_recall(s, hash)) {
			*rule = (struct unwind_rule *)s->rule;
			return END_NONE;
		}
	}
	index += s->at.page_base;
	page = bpf_map_lookup_elem(&row_pages, &index);
	if (!page)
		return END_NONE;
	place = page->place;
	if (place <= ROWS_PAGE_ASKED) {
		page_ask(s, page, index);
		return END_NO_TABLE;
	}
	if (place == ROWS_PAGE_EMPTY)
		return END_NONE;
	if (page->used != second)
		page->used = second;
	slab = place >> (ROWS_SLAB_SHIFT - ROWS_PLACE_SHIFT);
	rows.slab = bpf_map_lookup_elem(&row_slabs, &slab);
	if (!rows.slab)
		return END_NONE;
	rows.base = (place << ROWS_PLACE_SHIFT) & (ROWS_SLAB_BYTES - 1);
	id = unwind_search(&rows, offset);
	found = bpf_map_lookup_elem(&row_rules, &id);
	if (!found || found->cfa == CFA_NONE)
		return END_NONE;
	__builtin_memcpy(s->rule, found, sizeof(s->rule));
	*rule = (struct unwind_rule *)s->rule;
	if (hash)
		rule_remember(s, hash, index);
	return END_NONE;
}
