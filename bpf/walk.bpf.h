/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/walk.bpf.h - collects the two halves of a stack. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/mapping.bpf.h"
#include "bpf/regs.bpf.h"
#include "bpf/split.bpf.h"
#include "bpf/trampoline.bpf.h"
#include "bpf/unwind_maps.bpf.h"
#include "bpf/frame.bpf.h"
#include "bpf/language_maps.bpf.h"
#include "bpf/hotspot_maps.bpf.h"

struct task_struct___exec {
	unsigned int in_execve : 1;
} __attribute__((preserve_access_index));

/* Is the task in the middle of exec? Then its registers are the old program's, its memory the new
 * one's. */
static __always_inline bool in_exec(struct task_struct *task)
{
	struct task_struct___exec *t = (void *)task;

	return BPF_CORE_READ_BITFIELD_PROBED(t, in_execve);
}

#define NARROW_TASK_SIZE (1ULL << 32)

/* Does the process have 32-bit pointers in 64-bit mode (x32)? Its stack is below 4 GiB, but so may
 * that of other programs be. */
static __always_inline bool is_narrow(const struct scratch *s)
{
	struct mm_struct *mm = s->mm;

	return s->regs.sp < NARROW_TASK_SIZE && BPF_CORE_READ(mm, task_size) <= NARROW_TASK_SIZE;
}

/* The stack of 32-bit code is not walked: it has the interrupted place alone. The vDSO is another
 * one than that of 64-bit processes, so its places have no name here. */
static __always_inline void walk_leaf(struct scratch *s)
{
	u64 pc = s->regs.pc;

	s->landing = LANDING_NONE;
	s->stepped.again = 0;
	if (mapping_find(s, pc) == END_NONE && s->at.object != OBJECT_VDSO)
		push_place(s, pc, (pc - s->at.start + s->at.file_offset) & FRAME_OFFSET_MASK);
}

/* Walks from s->regs, of which s->end says whether they are there. mm must come straight from the
 * task. False: what was found is of no use. */
static __always_inline bool walk_registers(
	struct scratch *s, struct task_struct *task, struct mm_struct *mm)
{
	if (s->end == END_NONE && is_narrow(s))
		s->end = END_COMPAT;
	if (s->end == END_NONE || s->end == END_COMPAT)
		mappings_begin(s, task, mm);
	if (s->end == END_COMPAT)
		walk_leaf(s);
	if (s->end == END_NONE) {
		uprobe_begin(s, task);
		s->how = s->left_how = s->anchor = 0;
		s->language = s->hotspot = 0;
		walk_frames(s);
		if (s->end == END_TIME && s->limited)
			s->end = END_LIMITED; /* user space takes no more time for it */
	}
	split(SPLIT_HASH);
	if (s->end != END_ROOT && in_exec(task)) {
		s->end = END_NONE;
		s->user.head.frames_len = s->user.head.anon = 0;
		return false;
	}
	return true;
}

static __always_inline void walk_user(
	struct scratch *s, struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct mm_struct *mm = TASK_READ(task, mm);

	if (!mm || (TASK_READ(task, flags) & PF_KTHREAD))
		return;
	s->mm = mm;
	s->end = regs_user(ctx, task, &s->saved, &s->regs);
	if (!walk_registers(s, task, mm))
		return;
	s->user_below_leaf = mix(s->user_below_leaf, s->end + 1);
	if (s->user.head.anon)
		s->user_below_leaf = mix(mix(s->user_below_leaf, s->task.tgid), s->task.start_ns);
	s->user_below_leaf |= 1;
	s->user_hash = s->user.head.frames_len ? mix(s->user_below_leaf, s->user.frames[0]) | 1
					       : s->user_below_leaf;
}

/* The kernel half of which so many bytes of addresses are in the scratch, or an error. */
static __always_inline void walk_kernel_addresses(struct scratch *s, long bytes)
{
	u64 hash = 0;
	u32 i, len;

	if (bytes <= 0)
		return;
	len = (u32)bytes / sizeof(u64);
	for (i = 0; i < STACK_KERNEL_FRAMES_MAX; i++) {
		u64 frame;

		if (i >= len)
			break;
		frame = s->kernel.frames[i] - (i > 0);
		frame = (u64)FRAME_KERNEL << FRAME_KIND_SHIFT | (frame & FRAME_PAYLOAD_MASK);
		s->kernel.frames[i] = frame;
		if (i > 0)
			hash = mix(hash, frame);
	}
	s->kernel.head.frames_len = i;
	s->kernel_below_leaf = hash | 1;
	s->kernel_hash = mix(s->kernel_below_leaf, s->kernel.frames[0]) | 1;
}

static __always_inline void walk_kernel(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	if (!arch_user_mode(&ctx->regs))
		walk_kernel_addresses(s,
			bpf_get_stack(ctx, s->kernel.frames, sizeof(s->kernel.frames), 0));
}
