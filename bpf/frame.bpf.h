/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/frame.bpf.h - walks a user stack frame by frame: chooses the rule, falls back where there is
 * none, and decides when the walk ends. No maps and no SEC: compiles for the host too.
 * Functions that the verifier shall check once, and not at each call, take numbers only. So the
 * walk is passed as a number, `walk`. The includer defines before:
 *     struct scratch                      regs window searched stepped way taken landing how
 *                                         end at{start file_offset object kind table}
 *                                         user{head{frames_len anon} frames} root left_how
 *                                         walked late unruled user_below_leaf
 *     scratch_of(walk), walk_of(scratch)  number to scratch and back; NULL only in BPF
 *     walk_read(walk, dst, size, addr)    0 or an error: reads the task's memory, mostly code
 *     mapping_find(s, pc)                 END_NONE and s->at, or the reason
 *     rule_find(s, offset, &rule)         END_NONE and the rule at this offset of s->at's file,
 *                                         NULL outside functions; END_NO_TABLE
 *     walk_unprobe(s)                     puts a return address back that a uprobe replaced
 *     walk_late(s)                        true: the walk has taken too long
 *     walk_language(s)                    a step was made up from s->stepped, a frame of s->at
 *     walk_generated(s, pc)               s->at has no file: s->code is its frame, if it has a name
 *     walk_generated_step(s)              and steps; END_UNSUPPORTED: nobody knows how
 *     start_stack_of(s)                   sp at the process's entry point
 *     thread_base_of(s)                   address of the thread's own data, x86-64; 0: unknown */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/slot.bpf.h"
#include "bpf/split.bpf.h"
#include "bpf/unwind.bpf.h"

#ifdef __bpf__
#define WALK_GLOBAL __noinline
/* A program that needs more of the eight calls that may be open at once has less of them here. */
#ifndef WALK_OUTER
#define WALK_OUTER WALK_GLOBAL
#endif
/* Without this the compiler drops an unused parameter, and the verifier refuses the call. */
#define walk_used(parameter) barrier_var(parameter)
#else
#define WALK_GLOBAL static __attribute__((noinline, unused))
#define WALK_OUTER WALK_GLOBAL
#define walk_used(parameter) (void)(parameter)
#endif

#ifndef walk_language
static __always_inline void walk_language(struct scratch *s);
static __always_inline void walk_generated(struct scratch *s, u64 pc);
static __always_inline u32 walk_generated_step(struct scratch *s);
#endif

static __always_inline void push(struct scratch *s, u64 frame)
{
	u32 i = s->user.head.frames_len;

	s->user.head.frames_len = i + 1;
	if (i >= STACK_LEAF_FRAMES) {
		if (i >= STACK_LEAF_FRAMES + STACK_ROOT_FRAMES)
			s->left_how |= s->root[i & (STACK_ROOT_FRAMES - 1)] & FRAME_HOW_MASK;
		s->root[i & (STACK_ROOT_FRAMES - 1)] = frame;
		return;
	}
	s->user.frames[i & (STACK_LEAF_FRAMES - 1)] = frame;
	if (i > 0)
		s->user_below_leaf = mix(s->user_below_leaf, frame);
}

/* Values of stepped.again. A frame that is taken back had a rule, which led nowhere: its function
 * must begin there, and a caller is a guess. */
#define AGAIN_WITHOUT_RULE 1
#define AGAIN_TAKEN_BACK 2

enum landing {
	LANDING_NONE,
	LANDING_AGAIN, /* repeat the step from the frame that was pushed last */
	LANDING_DONE,
};

/* Here and not above: they use what precedes. */
#ifdef ARCH_DWARF_LR
#include "bpf/trampoline_arm64.bpf.h"
#include "bpf/uncovered_arm64.bpf.h"
#else
#include "bpf/trampoline_x86.bpf.h"
#include "bpf/uncovered_x86.bpf.h"
#endif

/* The clock is read after so many frames, and after so many steps without a rule: they may search
 * code and stack. A walk that is late ends at the next frame, before its step. */
#define WALK_TURN 32
#define WALK_UNRULED 4

/* Is this the rule of a function's first instruction, or of one without a caller? */
static __always_inline bool is_first_rule(const struct unwind_rule *rule)
{
	return rule && (rule->ra == RA_UNDEFINED ||
		(rule->cfa == CFA_REG && rule->cfa_reg == ARCH_DWARF_SP && rule->cfa_off == 8));
}

/* The frame that was taken back does not begin there: all is as before. A language's code has its
 * own places, of which 0 has none before it. */
static __always_inline u32 put_back(struct scratch *s)
{
	u64 *frame = &s->user.frames[(s->user.head.frames_len - 1) & (STACK_LEAF_FRAMES - 1)];

	if (FRAME_KIND(*frame) != FRAME_CODE)
		(*frame)--;
	return s->stepped.ended;
}

/* Steps to the caller: by rule, or by frame pointer if there is no rule. */
static __always_inline u32 walk_step(struct scratch *s, u64 offset)
{
	struct unwind_rule *rule = NULL;
	bool covered = s->at.kind == FRAME_FILE && s->at.table != TABLE_NONE;
	u32 end;

	if (covered) {
		if (s->at.table == TABLE_PENDING)
			return END_NO_TABLE;
		split(SPLIT_SEARCH);
		end = rule_find(s, offset, &rule);
		if (end)
			return end;
	}
	if (s->at.kind == FRAME_ANON) {
		end = walk_generated_step(s);
		if (end != END_UNSUPPORTED)
			return end;
	}
	split(SPLIT_READS);
	if (s->stepped.begins == AGAIN_TAKEN_BACK && !is_first_rule(rule))
		return put_back(s);
	if (rule && rule->cfa != CFA_NONE)
		end = unwind_rule_step(&s->regs, &s->window, rule);
	else if (s->at.kind == FRAME_ANON && trampoline_step(walk_of(s)))
		end = END_NONE;
	else {
		if (++s->unruled % WALK_UNRULED == 0)
			s->late = walk_late(s);
		end = walk_step_without_rule(walk_of(s), covered);
	}
	if (end == END_UNSUPPORTED && rule && rule->cfa == CFA_GOROUTINE)
		return walk_step_goroutine(
			walk_of(s), rule->cfa_off, rule->cfa_add, rule->cfa_reg, rule->fp_off);
	if (end == END_UNSUPPORTED && rule && rule->cfa == CFA_CGO)
		return walk_step_cgo(walk_of(s), rule->cfa_off, rule->cfa_add, rule->cfa_reg);
	if (end == END_CFA && rule && rule->cfa == CFA_REG && rule->cfa_reg == ARCH_DWARF_FP &&
		rule->ra == RA_AT_CFA && rule->fp == FP_AT_CFA)
		return walk_step_left_stack(walk_of(s), rule->cfa_off, rule->ra_off, rule->fp_off);
	return end == END_REGISTER ? walk_step_lazy(walk_of(s)) : end;
}

/* Pushes the frame with how it was reached; s->how is then the next one's, so far by a rule. A
 * frame whose step is repeated has been pushed, and its stack pointer was guessed. */
static __always_inline void push_place(struct scratch *s, u64 pc, u64 offset)
{
	u64 how = s->how;

	s->how = 0;
	if (s->landing == LANDING_AGAIN) {
		s->landing = LANDING_DONE;
		s->how = FRAME_BY_GUESS;
	} else if (s->at.kind == FRAME_FILE) {
		push(s,
			how | (u64)FRAME_FILE << FRAME_KIND_SHIFT |
				(u64)s->at.object << FRAME_OBJECT_SHIFT | offset);
	} else if (s->code) {
		push(s, how | s->code);
	} else {
		s->user.head.anon = 1;
		push(s, how | (u64)FRAME_ANON << FRAME_KIND_SHIFT | (pc & FRAME_PAYLOAD_MASK));
	}
}

#define OWN_STACK_BYTES (64U << 20)
#define OUTERMOST_BYTES 128

/* A zero in the place of a return address ends a stack only at its top, for where a rule is wrong
 * any zero may be there. The kernel knows the top of the process's own stack. */
static __always_inline bool is_at_top(const struct scratch *s)
{
	u64 below = start_stack_of(s) - s->regs.sp;

	return below > OWN_STACK_BYTES || below <= OUTERMOST_BYTES;
}

static __always_inline bool ends_wrongly(u32 end)
{
	return end == END_NO_MAPPING || end == END_NOT_CODE || end == END_STACK_READ ||
		end == END_CFA;
}

/* The walk cannot go on from the latest frame. It is repeated where it was looked up in a
 * neighbour: a leaf in a system call that never returns, as a thread's last, with what follows the
 * call; and a function's address that no call pushed, with what lies before the function. A program
 * put it on top of a stack that it made, for whatever returns that far. */
WALK_GLOBAL bool take_back(u64 walk, u32 end)
{
	struct scratch *s = scratch_of(walk);
	u32 len;

	if (!s || s->stepped.begins || s->stepped.again)
		return false;
	len = s->user.head.frames_len;
	if (len == 1 ? !s->stepped.how || !is_in_syscall(s)
		     : len == 0 || len > STACK_LEAF_FRAMES || s->stepped.how ||
				is_called(walk, s->stepped.pc))
		return false;
	s->regs.pc = s->stepped.pc;
	s->regs.sp = s->stepped.sp;
	s->regs.fp = s->stepped.fp;
	s->regs.exact = 0;
	s->how = 0;
	s->stepped.again = len == 1 ? 0 : AGAIN_TAKEN_BACK;
	s->stepped.ended = end;
	s->user.head.frames_len = len - 1;
	return true;
}

/* Handles one frame: find its mapping, push it, step to the caller. 1 ends the loop with s->end
 * set, or at the limit. Global, so that the verifier checks it once and not at each frame. bpf_loop
 * would do the same, but needs 5.17, and older kernels refuse a program that mentions it. */
WALK_GLOBAL int walk_frame(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 pc, offset;
	u32 end;

	if (!s || s->user.head.frames_len >= STACK_WALK_MAX)
		return 1;
	walk_unprobe(s);
	pc = s->regs.pc - !(s->regs.exact || s->stepped.again);
	split(SPLIT_MAPPING);
	end = mapping_find(s, pc);
	split(SPLIT_HASH);
	if (end == END_NONE) {
		offset = (pc - s->at.start + s->at.file_offset) & FRAME_OFFSET_MASK;
		s->stepped.how = s->how | s->regs.exact;
		s->code = 0;
		if (s->at.kind == FRAME_ANON)
			walk_generated(s, pc);
		push_place(s, pc, offset);
		s->stepped.callee = s->stepped.pc;
		s->stepped.pc = s->regs.pc;
		s->stepped.sp = s->regs.sp;
		s->stepped.fp = s->regs.fp;
		s->stepped.begins = s->stepped.again;
		s->stepped.again = 0;
		end = s->late ? END_TIME : walk_step(s, offset);
		if (s->stepped.begins == AGAIN_TAKEN_BACK)
			s->how |= FRAME_BY_GUESS;
		if (end == END_NONE)
			walk_language(s);
	}
	if (end == END_NO_MAPPING || end == END_NOT_CODE || end == END_STACK_READ ||
		end == END_CFA || end == END_ZERO)
		end = walk_landing(walk, end);
	if (end == END_ZERO)
		end = is_at_top(s) && was_entered(walk) ? END_ROOT : END_CFA;
	if (ends_wrongly(end) && take_back(walk, end))
		end = END_NONE;
	s->end = end;
	return end != END_NONE;
}

/* A loop in a loop, which costs the verifier less than one of all frames. 1: the walk has ended. */
WALK_OUTER int walk_turn(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	for (u32 i = 0; i < WALK_TURN; i++)
		if (walk_frame(walk))
			return 1;
	if (s)
		s->late = walk_late(s);
	return 0;
}

static __always_inline void append(struct scratch *s, u64 frame)
{
	u32 i = s->user.head.frames_len;

	if (i >= STACK_USER_FRAMES_MAX)
		return;
	s->user.frames[i] = frame;
	s->user.head.frames_len = i + 1;
	s->user_below_leaf = mix(s->user_below_leaf, frame);
}

/* Appends one of the root's frames. A function of its own for the same reason as walk_frame. */
WALK_GLOBAL int walk_keep_root(u64 walk, u32 at)
{
	struct scratch *s = scratch_of(walk);

	if (s)
		append(s, s->root[at & (STACK_ROOT_FRAMES - 1)]);
	return 0;
}

/* Decides which frames stay after a walk of more than the leaf's: those of a proven root, too. */
WALK_GLOBAL int walk_keep(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u32 at = STACK_LEAF_FRAMES;

	if (!s)
		return 0;
	s->user.head.frames_len = STACK_LEAF_FRAMES;
	if (s->end != END_ROOT) {
		if (s->end != END_NO_TABLE && s->end != END_TIME)
			s->end = END_DEPTH;
		return 0;
	}
	if (s->walked > STACK_LEAF_FRAMES + STACK_ROOT_FRAMES) {
		append(s, s->left_how | FRAME_LEFT_OUT);
		at = s->walked - STACK_ROOT_FRAMES;
	}
	for (u32 i = 0; i < STACK_ROOT_FRAMES; i++) {
		if (at + i >= s->walked)
			break;
		walk_keep_root(walk, at + i);
	}
	return 0;
}

/* Frames of a language that belong to no native one are missing. */
WALK_GLOBAL int walk_left_out(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	if (s)
		push(s, (u64)FRAME_LEFT_OUT);
	return 0;
}

/* Walks from s->regs up and appends to the existing frames; s->end is where it ended. */
static __always_inline void walk_frames(struct scratch *s)
{
	u64 pc = s->regs.pc;

	s->window.base = 0;
	s->window.narrow = 0;
	s->landing = LANDING_NONE;
	s->stepped.again = 0;
	s->end = END_NONE;
	for (u32 i = 0; i < STACK_WALK_MAX / WALK_TURN; i++)
		if (walk_turn(walk_of(s)))
			break;
	if (s->end == END_NONE)
		s->end = END_DEPTH;
	if (s->end != END_ROOT && s->user.head.frames_len == 1 &&
		is_new_thread(walk_of(s), pc, s->regs.gpr[0]))
		s->end = END_ROOT;
	if (s->end == END_ROOT && s->anchor)
		walk_left_out(walk_of(s));
	s->walked = s->user.head.frames_len;
	if (s->walked > STACK_LEAF_FRAMES)
		walk_keep(walk_of(s));
}
