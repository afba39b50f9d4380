/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_prologue.h - the depth of the stack at the start of a compiled C function, from its
 * first instructions, x86-64. For functions without any table, such as those that Go's linker takes
 * in without their call frame information. Source: Intel SDM vol. 2, appendix A. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

struct rows_prologue {
	uint32_t depth; /* bytes below the return address */
	uint32_t fp;    /* the caller's frame pointer is this far below it; 0: in its register */
};

/* Reads one instruction. False: the end, or an instruction that no prologue has; the depth is
 * final. */
bool rows_prologue_next(struct cursor *code, struct rows_prologue *state);
