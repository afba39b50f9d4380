/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/trampoline.bpf.h - undoes for the walk what uprobes, whoever set them, do to a task.
 * A return probe replaces a function's return address by the address of a trampoline in the mapping
 * [uprobes]; the kernel keeps the true one in a list of the task, innermost first. A probed
 * instruction that cannot be emulated runs in a copy, in a slot of the same mapping.
 * The task is the current one, so its list changes only if a tick interrupts the kernel there: the
 * walk then ends at the trampoline, as it does if no entry of the list fits. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/unwind.bpf.h"

#define UPROBE_RETURNS_MAX 64 /* the kernel's limit for a task */
#define UPROBE_SLOT_BYTES 128

/* Reads an entry of the list into s->uprobe_slot and s->uprobe_true, and gives the next one. Not
 * static, so that the verifier checks it once and not in each turn of a loop. */
__noinline u64 uprobe_entry(u64 at)
{
	struct scratch *s = scratch_of(at);
	struct return_instance *ri = (void *)at;

	if (!s)
		return 0;
	s->uprobe_slot = BPF_CORE_READ(ri, stack);
	s->uprobe_true = BPF_CORE_READ(ri, orig_ret_vaddr);
	return (u64)BPF_CORE_READ(ri, next);
}

/* Puts the true return address into s->regs.pc if an entry of the list belongs to the word of the
 * stack at `slot`. 1: none does. Not static, so that the verifier checks it once. */
__noinline int uprobe_return_of(u64 slot)
{
	struct scratch *s = scratch_of(slot);
	u64 at;

	if (!s)
		return 1;
	at = s->uprobe_returns;
	for (u32 i = 0; i < UPROBE_RETURNS_MAX && at; i++) {
		at = uprobe_entry(at);
		if (s->uprobe_slot == slot) {
			s->regs.pc = s->uprobe_true;
			return 0;
		}
	}
	return 1;
}

/* The walk came to a return address. Needed by bpf/frame.bpf.h. */
static __always_inline void walk_unprobe(struct scratch *s)
{
	if (s->uprobe_returns && s->regs.pc == s->uprobe_area && !s->regs.exact)
		uprobe_return_of(s->regs.sp - ARCH_RETURN_SLOT);
}

/* The tick interrupted the mapping [uprobes]: sets the registers to the place in the program. */
__noinline int uprobe_leave(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	struct uprobe_task *utask;
	u64 slot, offset, sp;
	u8 first;

	if (!s)
		return 0;
	utask = s->utask;
	slot = BPF_CORE_READ(utask, xol_vaddr);
	if (slot && s->regs.pc - slot < UPROBE_SLOT_BYTES) {
		s->regs.pc += BPF_CORE_READ(utask, vaddr) - slot;
		return 0;
	}
	offset = s->regs.pc - s->uprobe_area;
	if (walk_read(walk, &first, sizeof(first), s->uprobe_area))
		return 0;
	sp = s->regs.sp + 8 * arch_uprobe_pushed(first, offset);
	if (uprobe_return_of(sp - ARCH_RETURN_SLOT)) {
		/* In the system call, the saved sp is already the one of the caller. */
		if (uprobe_return_of(s->regs.sp - ARCH_RETURN_SLOT) == 0)
			return 0;
		/* The kernel has taken the entry from the list, and put the address here. */
		if (!arch_uprobe_answered(first, offset) ||
			walk_read(walk, &slot, sizeof(slot), sp - 8))
			return 0;
		s->regs.pc = slot;
	}
	s->regs.sp = sp;
	return 0;
}

/* At the start of a walk, with the registers of the tick. */
static __always_inline void uprobe_begin(struct scratch *s, struct task_struct *task)
{
	struct task_struct___uprobes *t = (void *)task;
	struct mm_struct___uprobes *mm = (void *)s->mm;
	struct uprobe_task *utask;

	s->uprobe_returns = s->uprobe_area = 0;
	if (!bpf_core_field_exists(t->utask))
		return;
	s->utask = utask = TASK_READ(t, utask);
	if (!utask)
		return;
	s->uprobe_returns = (u64)BPF_CORE_READ(utask, return_instances);
	s->uprobe_area = BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
	if (s->uprobe_area && s->regs.pc - s->uprobe_area < 1ULL << page_shift)
		uprobe_leave(walk_of(s));
}

/* Reads an entry as uprobe_entry does, and where its slot is in the copies of a deferred sample's
 * stack: outside of them if it is in none, or if `at` is 0. Not static, so that the verifier checks
 * it once. */
__noinline u64 uprobe_entry_of_copy(u64 at)
{
	struct scratch *s = scratch_of(at);
	u64 place;

	if (!s)
		return 0;
	s->uprobe_place = ~0ULL;
	if (!at)
		return 0;
	at = uprobe_entry(at);
	place = s->uprobe_slot - s->regs.sp;
	if (place < s->copied)
		s->uprobe_place = place;
	else if (s->uprobe_slot - s->root_at < s->root_copied)
		s->uprobe_place = s->uprobe_slot - s->root_at + DEFERRED_ROOT_OFFSET;
	return at;
}

/* A deferred walk has copies of the stack, as the scratch says: the true return addresses go into
 * them. limit is a constant power of two, and the copies have room for a word more. Only for
 * machines whose calls put them on the stack; elsewhere no word there is the trampoline's.
 * Whoever adds an `if` to the loop lets the verifier pay for it 64 times. */
static __always_inline void uprobe_mend_copy(struct scratch *s, u8 *copy, const u32 limit)
{
	u64 at = s->uprobe_returns;

	for (u32 i = 0; i < UPROBE_RETURNS_MAX; i++) {
		u64 place, *word;

		at = uprobe_entry_of_copy(at);
		place = s->uprobe_place & (limit - 1);
		word = (u64 *)(copy + place);
		if (((place ^ s->uprobe_place) | (*word ^ s->uprobe_area)) == 0)
			*word = s->uprobe_true;
	}
}
