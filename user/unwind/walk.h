/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/walk.h - the rest of a walk that BPF could not finish, with the same steps and the same
 * tables, on the bytes of the stack that it kept. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct publish;

struct walk_stack {
	uint64_t *frames; /* room for STACK_USER_FRAMES_MAX; the first frames_len are walked */
	uint32_t frames_len;
	uint32_t anon; /* some are code in no file */
};

/* Goes on from where `held` stopped. mappings: the process's code, sorted by start. The enum
 * stack_end that the walk came to; END_NO_TABLE: a table is still missing, try again later. */
uint32_t walk_held(struct publish *publish, const struct event_held *held,
	const struct scan_mapping *mappings, size_t mappings_len, struct walk_stack *out);
