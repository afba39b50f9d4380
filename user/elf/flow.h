/* SPDX-License-Identifier: Apache-2.0 */
/* elf/flow.h - the length of one machine instruction, and where control goes after it.
 * x86-64 and arm64. It distinguishes jumps, calls and returns and skips over all others; it does
 * not check that an instruction exists. Sources: Intel SDM vol. 2, chapter 2 and appendix A; AMD64
 * APM vol. 6 (XOP); Arm ARM, C4.1 "A64 instruction set encoding". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

enum flow_kind {
	FLOW_NEXT,     /* to the next instruction */
	FLOW_PADDING,  /* to the next one, and does nothing: nop, int3, zeros */
	FLOW_CALL,     /* to the target, and mostly back */
	FLOW_BRANCH,   /* to the target or the next one */
	FLOW_JUMP,     /* to the target */
	FLOW_INDIRECT, /* to an address in a register or in memory */
	FLOW_END,      /* a return or a trap */
};

struct flow {
	enum flow_kind kind;
	uint8_t length;
	bool direct;     /* has a target */
	uint64_t target; /* in the addresses of flow_read's `at` */
};

bool flow_knows(uint16_t machine); /* EM_* */
/* Reads one instruction at address `at`. False: the bytes end within it, or begin none. */
bool flow_read(uint16_t machine, struct cursor *code, uint64_t at, struct flow *out);
