/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/uncovered_arm64.bpf.h - steps from code without a table on arm64: by frame pointer.
 * Part of bpf/frame.bpf.h. */
#pragma once

/* Is the instruction before this address BL, BLR or BLRAA and its like (Arm ARM C6.2)? */
static __always_inline bool is_after_call(u64 walk, u64 address)
{
	u32 code;

	if (address < 4096 || walk_read(walk, &code, sizeof(code), address - sizeof(code)))
		return false;
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

/* Is this the program's entry, whose frame lies at the top of the stack that the kernel made? */
static __always_inline bool is_process_entry(struct scratch *s)
{
	u64 start = start_stack_of(s);

	return start != 0 && s->regs.sp == start;
}

#define PLT_INSNS 4
#define INSN_BR_X17 0xd61f0220

/* Is it in an entry of a PLT, which ends with  br x17  (AAELF64 §10)? */
static __always_inline bool is_in_plt(u64 walk, u64 pc)
{
	u32 code[PLT_INSNS];

	if (walk_read(walk, code, sizeof(code), pc))
		return false;
	return code[0] == INSN_BR_X17 || code[1] == INSN_BR_X17 || code[2] == INSN_BR_X17 ||
		code[3] == INSN_BR_X17;
}

#define VDSO_BYTES_MAX (16U << 12)

/* Steps to where the link register leads, if this code has no frame: entries of a PLT, the vDSO,
 * which has no rules, and routines in assembly between functions with rules. If it has one, the
 * frame pointer leads to the same address. The vDSO's functions make a frame before they call, so
 * an address outside is the caller's; code cannot be read where a deferred stack is walked. */
WALK_GLOBAL bool link_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 link, saved = 0;

	if (!s || !s->regs.exact)
		return false;
	link = arch_code_address(s->regs.gpr[ARCH_DWARF_LR]);
	if (s->regs.fp >= s->regs.sp)
		walk_read(walk, &saved, sizeof(saved), s->regs.fp + 8);
	if (arch_code_address(saved) == link)
		return false;
	if (s->at.object == OBJECT_VDSO ? link - s->at.start < VDSO_BYTES_MAX
					: !is_after_call(walk, link))
		return false;
	s->how = s->at.object == OBJECT_VDSO || is_in_plt(walk, s->regs.pc) ? 0 : FRAME_BY_CHAIN;
	s->regs.pc = link;
	s->regs.exact = 0;
	return true;
}

/* covered: the file has rules, but none here. Without rules a function may have called others since
 * it made its frame. */
WALK_GLOBAL u32 walk_step_without_rule(u64 walk, u32 covered)
{
	struct scratch *s = scratch_of(walk);
	u32 end;

	walk_used(covered);
	if (!s)
		return END_NO_REGS;
	if (is_process_entry(s))
		return END_ROOT;
	if ((covered || s->at.object == OBJECT_VDSO) && link_step(walk))
		return END_NONE;
	end = unwind_fp_step(&s->regs, &s->window);
	s->how = FRAME_BY_CHAIN;
	if (end == END_NONE && !is_after_call(walk, s->regs.pc))
		s->how |= FRAME_BY_GUESS;
	return end;
}

static __always_inline u32 walk_step_lazy(u64 walk)
{
	(void)walk;
	return END_REGISTER;
}

static __always_inline bool is_in_syscall(const struct scratch *s)
{
	(void)s;
	return false;
}

static __always_inline bool is_called(u64 walk, u64 pc)
{
	(void)walk, (void)pc;
	return true;
}

static __always_inline bool was_entered(u64 walk)
{
	(void)walk;
	return true;
}

static __always_inline bool is_new_thread(u64 walk, u64 pc, u64 result)
{
	(void)walk, (void)pc, (void)result;
	return false;
}

static __always_inline u32 walk_landing(u64 walk, u32 end)
{
	(void)walk;
	return end;
}

static __always_inline u32 walk_step_goroutine(u64 walk, s32 g, s32 curg, u32 add, u32 bp)
{
	(void)walk, (void)g, (void)curg, (void)add, (void)bp;
	return END_UNSUPPORTED;
}

static __always_inline u32 walk_step_cgo(u64 walk, s32 g, s32 depth, u32 room)
{
	(void)walk, (void)g, (void)depth, (void)room;
	return END_UNSUPPORTED;
}

static __always_inline u32 walk_step_left_stack(u64 walk, s32 cfa, s32 ra, s32 fp)
{
	(void)walk, (void)cfa, (void)ra, (void)fp;
	return END_CFA;
}
