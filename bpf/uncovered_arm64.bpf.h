/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/uncovered_arm64.bpf.h - steps from code without a table on arm64: by frame pointer.
 * Part of bpf/frame.bpf.h. */
#pragma once

WALK_GLOBAL u32 walk_step_without_rule(u64 walk, u32 covered)
{
	struct scratch *s = scratch_of(walk);

	walk_used(covered);
	return s ? unwind_fp_step(&s->regs, &s->window) : END_NO_REGS;
}

static __always_inline u32 walk_step_lazy(u64 walk)
{
	(void)walk;
	return END_REGISTER;
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

static __always_inline u32 walk_step_goroutine(u64 walk, s32 g, s32 curg, u32 add)
{
	(void)walk, (void)g, (void)curg, (void)add;
	return END_UNSUPPORTED;
}
