/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/walk.h - the rest of a walk that BPF could not finish, with the same code
 * (bpf/frame.bpf.h) and the same tables, on the bytes of the stack that it kept. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Times that a walk may ask for memory beyond the held bytes; a walk that asks for more is told
 * that there is none. */
#define WALK_READS_MAX 1024

/* What a walk asks for beside the held bytes. */
struct walk_world {
	void *tables, *memory; /* what the functions below are given */
	/* The enum table_state of an object. */
	uint32_t (*table)(void *tables, uint32_t object);
	/* END_NONE: *rule is the one at a file offset, CFA_NONE where no function is. END_NO_TABLE:
	 * it is not there yet. */
	uint32_t (*rule)(void *tables, uint32_t object, uint64_t offset, struct unwind_rule *rule);
	/* 0 or an error: memory that is not held. m: the code that addr is in, NULL in none. */
	int (*read)(void *memory, const struct scan_mapping *m, uint64_t addr, void *dst,
		uint32_t size);
};

struct publish;
/* The tables that BPF has. Sets tables, table and rule. */
void walk_published(struct publish *publish, struct walk_world *out);

struct walk_stack {
	uint64_t *frames; /* room for STACK_USER_FRAMES_MAX; the first frames_len are walked */
	uint32_t frames_len;
	uint32_t anon;   /* some are code in no file */
	uint32_t object; /* the last one's; 0 none */
};

/* Goes on from where `held` stopped. mappings: the process's code, sorted by start. The enum
 * stack_end that the walk came to; END_NO_TABLE: a table is still missing, try again later. */
uint32_t walk_held(const struct walk_world *world, const struct event_held *held,
	const struct scan_mapping *mappings, size_t mappings_len, struct walk_stack *out);
