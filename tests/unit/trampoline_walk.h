/* SPDX-License-Identifier: Apache-2.0 */
/* trampoline_walk.h - bpf/frame.bpf.h over made memory: generated code without a file that a
 * function of a file called, the outermost one. Its words of the stack are the test's; the frame
 * pointer leads nowhere. Included after the machine is chosen. */
#pragma once

#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "bpf/shim.h"
#include "bpf/unwind.bpf.h"

#define CODE 0x70001000ULL
#define CODE_BYTES 64
#define CALLER 0x401234ULL
#define STACK 0x7ffc0000ULL
#define STACK_WORDS 160
#define BAD_FP 0x1111ULL

struct scratch {
	struct unwind_regs regs;
	struct unwind_window window;
	u64 searched, how, code, left_how, anchor, user_below_leaf, root[STACK_ROOT_FRAMES];
	struct unwind_place stepped;
	struct unwind_way way, taken;
	u32 landing, end, walked, late, unruled, too_late;
	struct {
		u64 start, file_offset;
		u32 object, kind, table;
	} at;
	struct {
		struct event_stack head;
		u64 frames[STACK_USER_FRAMES_MAX];
	} user;
	u64 caller_fp, caller_sp; /* when the walk was there */
	u8 text[CODE_BYTES];
	u64 stack[STACK_WORDS];
};

static struct scratch *scratch_of(u64 walk)
{
	return (struct scratch *)(uintptr_t)walk;
}

static u64 walk_of(const struct scratch *s)
{
	return (u64)(uintptr_t)s;
}

static int walk_read(u64 walk, void *dst, u32 size, u64 addr)
{
	const struct scratch *s = scratch_of(walk);

	if (addr >= CODE && addr + size <= CODE + sizeof(s->text))
		memcpy(dst, s->text + (addr - CODE), size);
	else if (addr >= STACK && addr + size <= STACK + sizeof(s->stack))
		memcpy(dst, (const u8 *)s->stack + (addr - STACK), size);
	else
		return -1;
	return 0;
}

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	return walk_read(walk_of(memory), dst, size, addr);
}

static u32 mapping_find(struct scratch *s, u64 pc)
{
	bool in_code = pc >> 12 == CODE >> 12;

	if (!in_code && pc >> 12 != CALLER >> 12)
		return END_NO_MAPPING;
	s->at.start = pc & ~0xfffULL;
	s->at.object = !in_code;
	s->at.kind = in_code ? FRAME_ANON : FRAME_FILE;
	s->at.table = in_code ? TABLE_NONE : TABLE_READY;
	return END_NONE;
}

static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	static struct unwind_rule outermost = { .cfa = CFA_REG, .ra = RA_UNDEFINED };

	(void)offset;
	s->caller_fp = s->regs.fp;
	s->caller_sp = s->regs.sp;
	*rule = &outermost;
	return END_NONE;
}
#define start_stack_of(s) 0ULL
#define thread_base_of(s) 0ULL
#define walk_unprobe(s) ((void)(s))
#define walk_late(s) ((s)->too_late)
#define walk_language(s) ((void)(s))
#define walk_generated(s, pc) ((void)(pc))
#define walk_generated_step(s) END_UNSUPPORTED
#include "bpf/frame.bpf.h"
/* A walk from `offset` of the code, interrupted there or returned to. */
static void walk_from(struct scratch *s, const void *code, size_t code_len, u32 offset, u32 exact)
{
	*s = (struct scratch){ .regs = { .pc = CODE + offset, .sp = STACK, .fp = BAD_FP } };
	assert_true(code_len <= CODE_BYTES);
	memcpy(s->text, code, code_len);
	for (u32 i = 0; i < STACK_WORDS; i++)
		s->stack[i] = 0x5000 + i;
	s->regs.exact = exact;
	s->window.memory = s;
}

static inline void assert_caller_is_found(const struct scratch *s, const char *what)
{
	if (s->end != END_ROOT || s->user.head.frames_len != 2 ||
		s->user.frames[1] !=
			((u64)FRAME_FILE << FRAME_KIND_SHIFT | 1ULL << FRAME_OBJECT_SHIFT |
				((CALLER - 1) & 0xfff)))
		fail_msg("%s: %u frames, end %u", what, s->user.head.frames_len, s->end);
}
