/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/walk.h - finishes the walk of a deferred sample with BPF's code (bpf/frame.bpf.h) and
 * tables, on its copy of the stack. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Limit of reads outside the stack copy; further reads fail. */
#define WALK_READS_MAX 1024

/* Sources of a walk other than the stack copy. */
struct walk_world {
	void *tables, *memory; /* arguments of the functions below */
	/* The enum table_state of an object. */
	uint32_t (*table)(void *tables, uint32_t object);
	/* END_NONE: *rule is the rule at a file offset, CFA_NONE outside functions. END_NO_TABLE:
	 * not ready yet. */
	uint32_t (*rule)(void *tables, uint32_t object, uint64_t offset, struct unwind_rule *rule);
	/* Reads memory outside the copy; 0 or an error. m: the code mapping of addr, NULL if
	 * none. */
	int (*read)(void *memory, const struct scan_mapping *m, uint64_t addr, void *dst,
		uint32_t size);
	/* Address of the thread's own data on x86-64, if the thread is stopped; else 0: it holds
	 * what was true at another time. */
	uint64_t thread_base;
};

struct publish;
/* Uses the tables that BPF has. Sets tables, table and rule. */
void walk_published(struct publish *publish, struct walk_world *out);

struct walk_stack {
	uint64_t *frames; /* room for STACK_USER_FRAMES_MAX; frames_len are already walked */
	uint32_t frames_len;
	uint32_t anon;   /* some frames are in code without a file */
	uint32_t object; /* of the last frame; 0: none */
	uint64_t offset; /* in its file, where its rule was looked for last */
};

/* The frames that BPF walked and keeps. */
void walk_copy_frames(const struct event_deferred *deferred, struct walk_stack *out);
/* Continues where `deferred` stopped. mappings: the process's code, sorted by start. Returns the
 * enum stack_end of the walk; END_NO_TABLE: a table is still missing, try again later. */
uint32_t walk_deferred(const struct walk_world *world, const struct event_deferred *deferred,
	const struct scan_mapping *mappings, size_t mappings_len, struct walk_stack *out);
