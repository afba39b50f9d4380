/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/roots_x86.bpf.h - finds the begin of a stack in code without a table on x86-64: of programs,
 * threads and fibers. Part of bpf/uncovered_x86.bpf.h, which reads the stack and finds calls. */
#pragma once

static __always_inline bool tests_result(const u8 *code)
{
	return code[0] == 0x0f && code[1] == 0x05 &&
		((code[2] == 0x48 && code[3] == 0x85 && code[4] == 0xc0) ||
			(code[2] == 0x85 && code[3] == 0xc0));
}

#define DWARF_RSI 4
#define CLONE3_CODE 0x0f000001b3b8ULL /* mov $435,%eax; syscall */

/* Is this the start of a new thread? C libraries write `syscall; test; jl; je` for clone, with
 * false tables; only the child gets a zero, on the stack that the second argument names. The second
 * argument of clone3 names none. */
WALK_GLOBAL bool is_new_thread(u64 walk, u64 pc, u64 result)
{
	struct scratch *s = scratch_of(walk);
	u8 code[17];
	u64 before = 0;
	u32 at;

	if (!s || result != 0 || walk_read(walk, code, sizeof(code), pc - 12))
		return false;
	at = tests_result(code + 10) ? 10 : tests_result(code + 7) ? 7 : 5;
	if (!tests_result(code + at))
		return false;
	__builtin_memcpy(&before, code + at - 5, 6);
	return s->regs.gpr[DWARF_RSI] == s->regs.sp || before == CLONE3_CODE;
}

/* Is this the program's entry, whose frame lies at the top of the stack that the kernel made? C
 * libraries have no table for it. glibc's _start pushes two words, calls and halts. */
static __always_inline bool is_process_entry(struct scratch *s, u32 kind)
{
	u64 start = start_stack_of(s);

	return start != 0 && s->regs.sp + (kind == CALLER_HALTS ? 16 : 0) == start;
}

#define ENTRY_WORDS 16

/* Was this function called by the program's entry, as musl's are, which have no tables? Then the
 * topmost word of the stack is the return address, and no other word below it may be one. True:
 * the step is done. */
WALK_GLOBAL bool entry_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 top, at;
	u32 i = 0;

	if (!s)
		return false;
	top = start_stack_of(s) - 8;
	at = s->regs.sp;
	if (top - at >= 8 * ENTRY_WORDS)
		return false;
	while (i < ENTRY_WORDS && stack_word_from(walk, at, at) == 0 &&
		call_before(walk, s->searched) == NO_CALL) {
		at += 8;
		i++;
	}
	if (at != top || !go_back_to(s, s->searched, top + 8))
		return false;
	s->regs.fp = 0;
	s->how = 0;
	return true;
}

/* A rule leads to this return address, and no call pushed it: a program wrote it for where the
 * frame begins or goes on, as at the top of a fiber's stack, or for a jump to a function that
 * returns here. */
static __always_inline bool begins_here(struct scratch *s)
{
	return !s->regs.exact && !s->stepped.begins && s->stepped.how == 0 &&
		call_before(walk_of(s), s->regs.pc) == NO_CALL;
}

/* Was the thread interrupted in a system call? Then the instruction before its pc made it. */
static __always_inline bool is_in_syscall(const struct scratch *s)
{
	return s->regs.gpr[0] == SYSCALL_ENTERED;
}

/* Did a call push this return address? */
static __always_inline bool is_called(u64 walk, u64 pc)
{
	return call_before(walk, pc) != NO_CALL;
}

/* Was the outermost frame called, interrupted, or made to begin there? While an exception lands,
 * the unwinder overwrites return addresses. */
WALK_GLOBAL bool was_entered(u64 walk)
{
	struct scratch *s = scratch_of(walk);

	return s &&
		(s->regs.exact || s->stepped.begins || is_called(walk, s->regs.pc));
}

#define LAST_CALL_BYTES 8

/* Does this code end with a call that does not return, as of Boost.Context: `xor %rdi,%rdi; call
 * _exit; hlt`? */
WALK_GLOBAL bool is_last_call(u64 walk, u64 pc)
{
	u8 code[LAST_CALL_BYTES + 8];

	if (walk_read(walk, code, sizeof(code), pc))
		return false;
	for (u32 i = 0; i < LAST_CALL_BYTES; i++)
		if (code[i] == 0xe8 &&
			(code[i + 5] == 0xf4 || /* hlt, ud2 */
				(code[i + 5] == 0x0f && code[i + 6] == 0x0b)))
			return true;
	return false;
}
