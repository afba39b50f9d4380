/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - one walk and all that it asked for, written as a fixture for tests/unit/test_walk.c.
 * Text, a line each:
 *     # ...                                   where it is from
 *     regs PC SP FP START_STACK GPR...        hexadecimal; gpr by DWARF number
 *     code START END FILE_OFFSET OBJECT TABLE NAME     mappings; OBJECT 0: in no file
 *     rule OBJECT FILE_OFFSET CFA CFA_REG RA FP CFA_OFF CFA_ADD RA_OFF FP_OFF      decimal
 *     memory ADDRESS BYTES                    as it was read
 *     frame OBJECT FILE_OFFSET NAME           innermost first; OBJECT 0: an address
 *     end REASON                              by bpf/reasons.h */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "space.h"

struct walk_stack;

struct record {
	const char *path, *function; /* the walk to take: one with this function innermost */
	unsigned long skip;          /* walks in it that are let pass before */
	const char *title;
	FILE *file;
	int done;
};

/* Is the walk from pc the one? Opens the file then; exits when it cannot. */
int record_begin(struct record *record, struct space *space, uint64_t pc);
void record_rule(struct record *record, uint32_t object, uint64_t file_offset,
	const struct unwind_rule *rule);
void record_memory(struct record *record, uint64_t addr, const void *bytes, uint32_t size);
void record_end(struct record *record, struct space *space, const struct event_deferred *deferred,
	const struct walk_stack *stack, uint32_t end);
