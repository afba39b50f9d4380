/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/hotspot_arm64.bpf.h - steps through code that HotSpot has made, on arm64. Compiled code keeps
 * the stack pointer, and has the caller's frame pointer and its return address on top of its frame.
 * Frames of the interpreter hang on the frame pointer. Where code was interrupted while it made its
 * frame or took it down, the link register has the return address, and the instructions there show
 * how far it was. Part of bpf/hotspot.bpf.h. */
#pragma once

#define REG_THROWN_AT 3  /* where the exception is */
#define REG_SENDER_SP 13 /* the caller's stack pointer at entries; from version 21 on another */
#define REG_SENDER_SP_21 19
#define REG_LEAVING_SP 20 /* the same where the interpreter returns */
#define SP_MASK (~15ULL)

#define INSNS_BEFORE 16

/* Arm ARM C6.2, with lr = x30 and fp = x29. */
#define INSN_RET 0xd65f03c0
#define INSN_PUSH_RECORD 0xa9bf7bfd /* stp fp, lr, [sp, #-16]! */
#define INSN_POP_RECORD 0xa8c17bfd  /* ldp fp, lr, [sp], #16 */
#define INSN_INTERPRETER_FP 0x910143fd /* add fp, sp, #80 */
#define INSN_SAVE_SENDER 0xa90437ff    /* stp xzr, x13, [sp, #64] */
#define INSN_SAVE_SENDER_21 0xa9044fff /* stp xzr, x19, [sp, #64] */

static __always_inline bool insn_saves(u32 insn) /* stp fp, lr, [sp, #n] */
{
	return (insn & 0xffc07fff) == 0xa9007bfd;
}

static __always_inline bool insn_restores(u32 insn) /* ldp fp, lr, [sp, #n] */
{
	return (insn & 0xffc07fff) == 0xa9407bfd;
}

static __always_inline bool insn_lowers(u32 insn) /* sub sp, sp, #n or xn */
{
	return (insn & 0xff8003ff) == 0xd10003ff || (insn & 0xffe0ffff) == 0xcb2063ff;
}

static __always_inline bool insn_raises(u32 insn) /* add sp, sp, #n or xn */
{
	return (insn & 0xff8003ff) == 0x910003ff || (insn & 0xffe0ffff) == 0x8b2063ff;
}

static __always_inline bool insn_leaves(u32 insn) /* b, br, ret */
{
	return (insn & 0xfc000000) == 0x14000000 || (insn & 0xfffffc1f) == 0xd61f0000 ||
		insn == INSN_RET;
}

/* An instruction, from the interrupted one on or before it. */
static __always_inline u32 insn_at(const struct hotspot_scratch *h, s32 at)
{
	return h->insns[(INSNS_BEFORE + at) & (ARCH_INSNS - 1)];
}

static __always_inline bool hotspot_read_insns(
	u64 walk, const struct scratch *s, struct hotspot_scratch *h)
{
	return walk_read(walk, h->insns, sizeof(h->insns), s->regs.pc - 4 * INSNS_BEFORE) == 0;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

/* The end is  ldp fp, lr, [sp], #16; and sp, x20, #~15; ret.  An entry makes its frame within so
 * many instructions. */
#define LEAVING_INSNS 4
#define ENTRY_INSNS (ARCH_INSNS - INSNS_BEFORE)

/* The state in which the interpreter was interrupted. */
WALK_GLOBAL u32 hotspot_interpreter_state(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);

	if (!h || !s || !hotspot_read_insns(walk, s, h))
		return HOTSPOT_INTERPRETER;
	for (s32 i = 1; i <= LEAVING_INSNS; i++) {
		if (insn_leaves(insn_at(h, -i)))
			break;
		if (insn_at(h, -i) == INSN_POP_RECORD)
			return HOTSPOT_LEAVING;
	}
	for (s32 i = 0; i < ENTRY_INSNS; i++)
		if (insn_at(h, i) == INSN_INTERPRETER_FP)
			return HOTSPOT_ENTERING;
	return HOTSPOT_INTERPRETER;
}

static __always_inline u32 hotspot_interpreter(u64 walk, const struct scratch *s)
{
	(void)s;
	return hotspot_interpreter_state(walk);
}

/* Has the frame its method? One instruction after the frame pointer its last word is missing. */
static __always_inline bool hotspot_has_method(
	const struct scratch *s, struct hotspot_scratch *h, u64 below)
{
	(void)below;
	if (s->regs.exact && insn_at(h, 0) == INSN_SAVE_SENDER)
		h->frame[INTERPRETER_SENDER] = s->regs.gpr[REG_SENDER_SP];
	if (s->regs.exact && insn_at(h, 0) == INSN_SAVE_SENDER_21)
		h->frame[INTERPRETER_SENDER] = s->regs.gpr[REG_SENDER_SP_21];
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Steps to where the link register leads, if that is HotSpot's code. */
static __always_inline bool hotspot_return_live(u64 walk, struct scratch *s, u64 sp)
{
	u64 pc = arch_code_address(s->regs.gpr[ARCH_DWARF_LR]);

	if (!hotspot_made(walk, pc))
		return false;
	s->regs.pc = pc;
	s->regs.sp = sp;
	s->regs.exact = 0;
	return true;
}

/* Where code with a frame was interrupted. */
enum hotspot_saved {
	SAVED_ALL,
	SAVED_NOTHING, /* there is no frame */
	SAVED_SPACE,   /* there is one, but the registers are the caller's */
	SAVED_RECORD,  /* only the frame pointer and the return address are on the stack */
};

#define COMPLETE_NEVER 0xffff /* of a stub that has no safepoint */

/* A small frame is  sub sp, sp, #n; stp fp, lr, [sp, #n - 16]  and  ldp fp, lr, [sp, #n - 16]; add
 * sp, sp, #n,  a large one and that of a stub is  stp fp, lr, [sp, #-16]!; sub sp, sp, #n  and  add
 * sp, sp, #n; ldp fp, lr, [sp], #16.  Before one is made the stack is checked; after it was taken
 * down is a check for safepoints. So the nearest of these shows how far it was. */
WALK_GLOBAL u32 hotspot_saved(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 at;
	u32 next;

	if (!h || !s || !hotspot_read_insns(walk, s, h))
		return SAVED_ALL;
	next = insn_at(h, 0);
	if (next == INSN_POP_RECORD)
		return SAVED_RECORD;
	at = s->regs.pc - h->code;
	for (s32 i = 1; i < INSNS_BEFORE; i++) {
		u32 insn = insn_at(h, -i);

		if (at < 4 * (u64)i)
			return SAVED_NOTHING;
		if (insn_leaves(insn) || insn_saves(insn))
			return SAVED_ALL;
		if (insn == INSN_PUSH_RECORD)
			return SAVED_RECORD;
		if (insn == INSN_POP_RECORD)
			return SAVED_NOTHING;
		if (insn_lowers(insn))
			return insn_saves(next) ? SAVED_SPACE : SAVED_ALL;
		if (insn_restores(insn))
			return SAVED_SPACE;
		if (insn_raises(insn))
			return insn_restores(insn_at(h, -i - 1)) ? SAVED_NOTHING : SAVED_ALL;
	}
	return at < h->complete && h->complete < COMPLETE_NEVER ? SAVED_NOTHING : SAVED_ALL;
}

/* Words that compiled code pushes while it calls some stubs. */
#define PUSHED_WORDS 8

/* From code whose frame has a size. */
WALK_GLOBAL bool hotspot_step_sized(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u32 saved = SAVED_ALL;
	u64 sp, top;

	if (!h || !s)
		return false;
	sp = s->regs.sp;
	top = sp + h->frame_bytes;
	if (s->regs.exact)
		saved = hotspot_saved(walk);
	if (saved == SAVED_NOTHING && hotspot_return_live(walk, s, sp))
		return true;
	if (saved == SAVED_SPACE && hotspot_return_live(walk, s, top))
		return true;
	if (saved == SAVED_RECORD && hotspot_return(walk, sp + 8, 1))
		return true;
	if (h->frame_bytes && hotspot_return(walk, top - 8, 1))
		return true;
	if (s->regs.exact &&
		(hotspot_return(walk, s->regs.fp + 8, 1) || hotspot_return_live(walk, s, sp)))
		return true;
	for (u32 i = 0; i < PUSHED_WORDS; i++, top += 16)
		if (hotspot_return(walk, top + 8, 1))
			return true;
	return false;
}

/* From the interpreter where it has no frame, and from an adapter. Arguments that they got, or are
 * about to pass on, lie below the caller's stack pointer. While the interpreter asks for an
 * exception's handler its return address is on the stack. */
WALK_GLOBAL u32 hotspot_step_between(u64 walk, u32 old_sp)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);

	if (!h || !s)
		return END_UNSUPPORTED;
	if (!s->regs.exact)
		return hotspot_return(walk, s->regs.sp + 8, 0) ? END_NONE : END_UNSUPPORTED;
	if (old_sp == REG_SENDER_SP && h->process.version == 21)
		old_sp = REG_SENDER_SP_21;
	if (!hotspot_return_live(walk, s, s->regs.sp))
		return END_UNSUPPORTED;
	return hotspot_return_to(s, s->regs.pc, s->regs.gpr[old_sp & 31] & SP_MASK);
}

/* From a stub. If it called another part of itself, the frame pointer leads to its record; else the
 * link register has the return address, with a record and without. */
WALK_GLOBAL u32 hotspot_step_stub(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	u64 link, saved = 0;

	if (!h || !s)
		return END_UNSUPPORTED;
	if (s->regs.pc == h->process.call_return)
		return hotspot_step_out(walk, s);
	if (!s->regs.exact)
		return hotspot_step_thawed(walk) || hotspot_return(walk, s->regs.fp + 8, 1)
			? END_NONE
			: END_UNSUPPORTED;
	link = arch_code_address(s->regs.gpr[ARCH_DWARF_LR]);
	if (s->regs.fp >= s->regs.sp)
		walk_read(walk, &saved, sizeof(saved), s->regs.fp + 8);
	if (link - h->code < h->bytes || arch_code_address(saved) == link)
		return hotspot_return(walk, s->regs.fp + 8, 1) ? END_NONE
							       : hotspot_step_out(walk, s);
	return hotspot_return_live(walk, s, s->regs.sp) ? END_NONE : END_UNSUPPORTED;
}

/* From code that has no frame, or has taken down that of who jumped there. */
WALK_GLOBAL bool hotspot_step_bare(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	if (!s)
		return false;
	return (s->regs.exact && hotspot_return_live(walk, s, s->regs.sp)) ||
		hotspot_return(walk, s->regs.sp + 8, 1) || hotspot_return(walk, s->regs.fp + 8, 1);
}

/* Code jumps there that has a frame. Its place is saved as if it had called. */
WALK_GLOBAL u32 hotspot_step_exception(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 at;

	if (!s)
		return END_UNSUPPORTED;
	at = s->regs.gpr[REG_THROWN_AT];
	if (s->regs.exact && hotspot_saved(walk) == SAVED_NOTHING && hotspot_made(walk, at))
		return hotspot_return_to(s, at, s->regs.sp);
	return hotspot_step_sized(walk) ? END_NONE : END_UNSUPPORTED;
}
