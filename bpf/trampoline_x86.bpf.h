/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/trampoline_x86.bpf.h - steps through generated code that is known byte by byte, on x86-64.
 * Such a step is exact, as a step by rule is. Part of bpf/frame.bpf.h. */
#pragma once

/* CPython 3.12 and up make a copy of this for each function under `-X perf` (asm_trampoline.S), an
 * endbr64 before it if CPython was built for CET:
 * sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
#define CPYTHON_BYTES 11
#define CPYTHON_FIRST 0x8348d1ff08ec8348ULL
#define CPYTHON_LAST 0xc308c4ULL

#define CPYTHON_ENDBR (-4)
#define CPYTHON_SUB 0
#define CPYTHON_CALL 4
#define CPYTHON_ADD 6
#define CPYTHON_RET 10
#define CPYTHON_ELSEWHERE CPYTHON_BYTES

/* The offset in the trampoline of an instruction that begins with these bytes. */
static __always_inline s32 cpython_offset(u32 code)
{
	if (code == 0x08c48348)
		return CPYTHON_ADD;
	if (code == 0x08ec8348)
		return CPYTHON_SUB;
	if (code == 0xfa1e0ff3)
		return CPYTHON_ENDBR;
	if ((u16)code == 0xd1ff)
		return CPYTHON_CALL;
	return (u8)code == 0xc3 ? CPYTHON_RET : CPYTHON_ELSEWHERE;
}

/* True: pc is in CPython's trampoline, and the step is done. */
WALK_GLOBAL bool trampoline_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 code[2] = {}, sp, ra;
	s32 offset;
	u32 next;

	if (!s || walk_read(walk, &next, sizeof(next), s->regs.pc))
		return false;
	offset = cpython_offset(next);
	if (offset == CPYTHON_ELSEWHERE || (offset != CPYTHON_ADD && !s->regs.exact))
		return false;
	if (walk_read(walk, code, CPYTHON_BYTES, s->regs.pc - (s64)offset) ||
		code[0] != CPYTHON_FIRST || code[1] != CPYTHON_LAST)
		return false;
	sp = s->regs.sp + (offset == CPYTHON_CALL || offset == CPYTHON_ADD ? 8 : 0);
	if (unwind_word(&s->window, sp, sp, &ra) || ra == 0)
		return false;
	s->regs.pc = ra;
	s->regs.sp = sp + 8;
	s->regs.exact = 0;
	return true;
}
