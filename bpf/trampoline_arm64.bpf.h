/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/trampoline_arm64.bpf.h - steps through generated code that is known byte by byte, on arm64.
 * Such a step is exact, as a step by rule is. Part of bpf/frame.bpf.h. */
#pragma once

/* CPython 3.12 and up make a copy of this for each function under `-X perf` (asm_trampoline.S), in
 * builds for pointer authentication with paciasp before it and autiasp before ret:
 * stp x29,x30,[sp,-16]!; mov x29,sp; blr x3; ldp x29,x30,[sp],16; ret */
#define CPYTHON_FIRST 0x910003fda9bf7bfdULL
#define CPYTHON_LAST 0xa8c17bfdd63f0060ULL
#define CPYTHON_AUTIASP 0xd50323bf

#define CPYTHON_PACIASP (-4)
#define CPYTHON_STP 0
#define CPYTHON_MOV 4
#define CPYTHON_BLR 8
#define CPYTHON_LDP 12
#define CPYTHON_END 16 /* autiasp or ret; the ret after autiasp is one instruction further */
#define CPYTHON_ELSEWHERE 32

/* The offset in the trampoline of an instruction, after the instruction before it. */
static __always_inline s32 cpython_offset(u32 before, u32 code)
{
	switch (code) {
	case 0xa8c17bfd:
		return CPYTHON_LDP;
	case 0xa9bf7bfd:
		return CPYTHON_STP;
	case 0x910003fd:
		return CPYTHON_MOV;
	case 0xd63f0060:
		return CPYTHON_BLR;
	case 0xd503233f:
		return CPYTHON_PACIASP;
	case CPYTHON_AUTIASP:
		return CPYTHON_END;
	case 0xd65f03c0:
		return CPYTHON_END + (before == CPYTHON_AUTIASP ? 4 : 0);
	default:
		return CPYTHON_ELSEWHERE;
	}
}

/* True: pc is in CPython's trampoline, and the step is done. */
WALK_GLOBAL bool trampoline_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u32 before = 0, next;
	u64 code[2], ra, fp;
	s32 offset;

	if (!s || walk_read(walk, &next, sizeof(next), s->regs.pc))
		return false;
	if (walk_read(walk, &before, sizeof(before), s->regs.pc - sizeof(before)))
		before = 0;
	offset = cpython_offset(before, next);
	if (offset == CPYTHON_ELSEWHERE || (offset != CPYTHON_LDP && !s->regs.exact))
		return false;
	if (walk_read(walk, code, sizeof(code), s->regs.pc - (s64)offset) ||
		code[0] != CPYTHON_FIRST || code[1] != CPYTHON_LAST)
		return false;
	fp = s->regs.fp;
	ra = s->regs.gpr[ARCH_DWARF_LR];
	if (offset > CPYTHON_STP && offset < CPYTHON_END) {
		if (unwind_word(&s->window, s->regs.sp, s->regs.sp, &fp) ||
			unwind_word(&s->window, s->regs.sp + 8, s->regs.sp, &ra))
			return false;
		s->regs.sp += 16;
	}
	s->regs.fp = fp;
	s->regs.pc = arch_code_address(ra);
	s->regs.exact = 0;
	return true;
}
