/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_prologue.h - how deep the stack is where a compiled C function begins, by its first
 * instructions, x86-64: for functions of which nothing else speaks, as those that Go's own linker
 * takes in without their call frame information. Source: Intel SDM vol. 2, appendix A. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

struct rows_prologue {
	uint32_t depth; /* bytes below the return address */
	uint32_t fp; /* the caller's frame pointer is as many below it; 0: still in its register */
};

/* Reads one instruction. False: it is none of those that prologues are made of, or the end; from
 * there on the depth is what it was. */
bool rows_prologue_next(struct cursor *code, struct rows_prologue *state);
