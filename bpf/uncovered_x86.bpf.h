/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/uncovered_x86.bpf.h - steps from code without a table on x86-64. Part of bpf/frame.bpf.h.
 * JITs keep a chain of frame pointers. Assembly in a library keeps none: there the walk searches
 * the stack for a word that looks like a return address. */
#pragma once

#define FUNCTION_BYTES_MAX (1 << 16)
#define SEARCH_WORDS 48
#define NO_CALL 0
#define SOME_CALL 1

/* The target of the call before this address, if the bytes there are a call: E8 rel32, or any
 * length of FF /2 (Intel SDM vol. 2, CALL), whose target is unknown. Not static, like the functions
 * below, so that the verifier checks it once. */
WALK_GLOBAL u64 call_before(u64 walk, u64 address)
{
	u8 code[8] __attribute__((aligned(8)));
	s32 relative;

	if (address < 4096 || walk_read(walk, code, sizeof(code), address - sizeof(code)))
		return NO_CALL;
	if (code[3] == 0xe8) {
		__builtin_memcpy(&relative, code + 4, sizeof(relative));
		return address + (s64)relative;
	}
	return (code[6] == 0xff && (code[7] & 0x38) == 0x10) ||
		(code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
		(code[4] == 0xff && code[5] == 0x54) ||
		(code[2] == 0xff && (code[3] & 0x38) == 0x10) ||
		(code[1] == 0xff && (code[2] & 0x38) == 0x10);
}

/* Reads a word of the stack into s->searched. */
WALK_GLOBAL int stack_word_from(u64 walk, u64 at, u64 from)
{
	struct scratch *s = scratch_of(walk);

	return s ? unwind_word(&s->window, at, from, &s->searched) : -1;
}

/* The same for the return address at [fp + 8]. */
static __always_inline u64 call_of_frame(struct scratch *s, u64 fp)
{
	if ((fp & 7) || stack_word_from(walk_of(s), fp + 8, s->regs.sp))
		return NO_CALL;
	return call_before(walk_of(s), s->searched);
}

static __always_inline bool go_back_to(struct scratch *s, u64 address, u64 sp)
{
	if (call_before(walk_of(s), address) == NO_CALL || mapping_find(s, address - 1) != END_NONE)
		return false;
	s->regs.pc = address;
	s->regs.sp = sp;
	s->regs.exact = 0;
	return true;
}

/* Bytes of stack that `add $n,%rsp; ret` at pc frees before it returns; 0 for other code. */
static __always_inline u64 freed_here(u64 walk, u64 pc)
{
	u64 code;

	if (walk_read(walk, &code, sizeof(code), pc) || (code & 0xff80ffffffULL) != 0xc300c48348ULL)
		return 0;
	return (u8)(code >> 24);
}

/* A leaf in code without tables may have no frame. Then its return address is on top of the stack,
 * and a step by frame pointer would skip its caller. True: the step is done. */
static __always_inline bool frameless_leaf_step(struct scratch *s)
{
	u64 sp = s->regs.sp, word, above;

	if (!s->regs.exact)
		return false;
	sp += freed_here(walk_of(s), s->regs.pc);
	if (unwind_word(&s->window, sp, sp, &word))
		return false;
	/* Just entered, before `mov %rsp,%rbp`: the caller's frame pointer is on top. */
	if (word == s->regs.fp && word != 0 && unwind_word(&s->window, sp + 8, sp, &above) == 0 &&
		s->regs.fp != sp && call_before(walk_of(s), above) != NO_CALL) {
		sp += 8;
		word = above;
	}
	return go_back_to(s, word, sp + 8);
}

/* Is pc the return of a signal handler: `mov $15,%rax; syscall` (rt_sigreturn), as C libraries and
 * Go write it? */
static __always_inline bool is_signal_return(u64 walk, const struct unwind_regs *regs)
{
	u64 code;

	return !regs->exact && walk_read(walk, &code, sizeof(code), regs->pc) == 0 &&
		code == 0x0f0000000fc0c748ULL;
}

#define SEARCH_NOTHING 0
#define SEARCH_FOUND 1
#define SEARCH_STOP 2

/* Checks one word of the stack. A result above the constants may be the caller's saved frame
 * pointer. */
WALK_GLOBAL u64 search_word(u64 walk, u64 at)
{
	struct scratch *s = scratch_of(walk);
	u64 word;

	if (!s || unwind_word(&s->window, at, s->regs.sp, &word))
		return SEARCH_STOP;
	if (go_back_to(s, word, at + 8))
		return SEARCH_FOUND;
	if (word > at && word - at < FUNCTION_BYTES_MAX && call_of_frame(s, word))
		return word;
	return SEARCH_NOTHING;
}

/* Steps to the nearest word up the stack that may be a return address. */
static __always_inline bool search_step(struct scratch *s)
{
	u64 at = s->regs.sp, saved = 0;

	for (u32 i = 0; i < SEARCH_WORDS; i++, at += 8) {
		u64 what = search_word(walk_of(s), at);

		if (what == SEARCH_STOP)
			break;
		if (what == SEARCH_FOUND) {
			if (saved > at && (s->regs.fp <= at || !call_of_frame(s, s->regs.fp)))
				s->regs.fp = saved;
			return true;
		}
		if (what != SEARCH_NOTHING)
			saved = what;
	}
	return false;
}

/* Does the frame at fp belong to the function that contains pc? Judged by the target of its
 * call. */
static __always_inline bool has_frame(struct scratch *s)
{
	u64 target = NO_CALL;

	/* The second condition: skip the frame that was just left. */
	if (s->regs.fp && s->regs.fp + 16 != s->regs.sp)
		target = call_of_frame(s, s->regs.fp);
	return target == SOME_CALL ||
		(target != NO_CALL && s->regs.pc - target < FUNCTION_BYTES_MAX);
}

static __always_inline bool tests_result(const u8 *code)
{
	return code[0] == 0x0f && code[1] == 0x05 &&
		((code[2] == 0x48 && code[3] == 0x85 && code[4] == 0xc0) ||
			(code[2] == 0x85 && code[3] == 0xc0));
}

/* Is this the start of a new thread, on an empty stack? C libraries write `syscall; test; jl; je`
 * for clone, with false tables; only the child gets a zero. */
WALK_GLOBAL bool is_new_thread(u64 walk, u64 pc, u64 result)
{
	u8 code[12];

	return result == 0 && walk_read(walk, code, sizeof(code), pc - 7) == 0 &&
		(tests_result(code + 5) || tests_result(code + 2) || tests_result(code));
}

/* Is this the frame that the kernel made for the program's entry? C libraries have no table for
 * it. */
static __always_inline bool is_process_entry(struct scratch *s)
{
	return s->regs.fp == 0 && s->regs.sp == start_stack_of(s);
}

/* covered: other code of this file has a table. */
WALK_GLOBAL u32 walk_step_without_rule(u64 walk, u32 covered)
{
	struct scratch *s = scratch_of(walk);

	if (!s)
		return END_NO_REGS;
	if (is_signal_return(walk, &s->regs))
		return unwind_signal_step(&s->regs, &s->window);
	if (s->regs.exact && is_new_thread(walk, s->regs.pc, s->regs.gpr[0]))
		return END_ROOT;
	if (frameless_leaf_step(s))
		return END_NONE;
	if (is_process_entry(s))
		return END_ROOT;
	if (covered && !has_frame(s) && search_step(s))
		return END_NONE;
	return unwind_fp_step(&s->regs, &s->window);
}

#define LAZY_CODE_BYTES 160
#define LAZY_RELOCATIONS_MAX (1 << 24)
#define LAZY_ALIGN_WORDS 8
#define LINK_MAP_REAL 40 /* offset of l_real: a link map's own address */

/* The size of the area in which glibc's trampoline saves argument registers, if its prologue ends
 * at this address: push %rbx; mov %rsp,%rbx; and $-64,%rsp; sub size(%rip),%rsp. Else 0. */
WALK_GLOBAL u64 lazy_area(u64 walk, u64 begin)
{
	u64 code[2], size;

	if (walk_read(walk, code, sizeof(code), begin) || code[0] != 0xc0e48348e3894853ULL ||
		(code[1] & 0xffffff) != 0x252b48 ||
		walk_read(walk, &size, sizeof(size), begin + 15 + (s64)(s32)(code[1] >> 24)))
		return 0;
	return size;
}

/* Does `at` hold the trampoline's frame: rbx, link map, relocation number, return address? Then it
 * steps. */
WALK_GLOBAL bool lazy_frame(u64 walk, u64 at)
{
	struct scratch *s = scratch_of(walk);
	u64 words[4], real;

	return s && walk_read(walk, words, sizeof(words), at) == 0 &&
		words[2] < LAZY_RELOCATIONS_MAX &&
		walk_read(walk, &real, sizeof(real), words[1] + LINK_MAP_REAL) == 0 &&
		real == words[1] && go_back_to(s, words[3], at + sizeof(words));
}

#define LAZY_FRAME_REG 3 /* rbx */
#define LAZY_SAVED_WORDS 8

/* The register that points at the trampoline's frame, less than an alignment above `low`: the
 * interrupted function's, or the copy that a callee saved. 0: neither. */
WALK_GLOBAL u64 lazy_saved(u64 walk, u64 low)
{
	struct scratch *s = scratch_of(walk);
	u64 words[LAZY_SAVED_WORDS], found = 0;

	if (!s)
		return 0;
	if (s->regs.gpr[LAZY_FRAME_REG] - low < LAZY_ALIGN_WORDS * 8)
		return s->regs.gpr[LAZY_FRAME_REG];
	if (walk_read(walk, words, sizeof(words), s->regs.sp - sizeof(words)))
		return 0;
	for (u32 i = 0; i < LAZY_SAVED_WORDS; i++)
		found = words[i] - low < LAZY_ALIGN_WORDS * 8 ? words[i] : found;
	return found;
}

/* glibc's trampoline for lazy binding (_dl_runtime_resolve) has a CFA relative to a register that
 * is lost here. The size of its frame is known except for the alignment. That gap may contain an
 * older frame, so the register is tried first. */
WALK_GLOBAL u32 walk_step_lazy(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 begin, saved, area = 0;

	if (!s)
		return END_REGISTER;
	begin = s->regs.pc & ~15ULL;
	for (u32 back = 0; back < LAZY_CODE_BYTES && !area; back += 16) {
		area = lazy_area(walk, begin - back);
		if (!area)
			area = lazy_area(walk, begin - back + 4); /* after an endbr64 */
	}
	saved = area ? lazy_saved(walk, s->regs.sp + area) : 0;
	if (saved && lazy_frame(walk, saved))
		return END_NONE;
	for (u32 i = 0; i < LAZY_ALIGN_WORDS && area; i++)
		if (lazy_frame(walk, s->regs.sp + area + i * 8))
			return END_NONE;
	return END_REGISTER;
}

/* ---- a C++ exception that is about to land ------------------------------------------------- */

#define LANDING_WORDS 1024

/* Repairs a walk that failed while a C++ exception is about to land. At that moment the unwinder's
 * frame already holds the registers of the catching function, far above all unwound frames, as if
 * it had called the unwinder. Its stack pointer is unknown: it is the word above the second copy of
 * the same return address. If found, the result is END_NONE and the caller repeats the step; else
 * `end`. */
WALK_GLOBAL u32 walk_landing(u64 walk, u32 end)
{
	struct scratch *s = scratch_of(walk);
	u64 at;

	if (!s || s->user.head.frames_len < 2 || s->landing)
		return end;
	s->landing = LANDING_DONE;
	/* A real call is no landing: the walk failed for another reason. */
	if (s->stepped.callee - call_before(walk, s->stepped.pc) < FUNCTION_BYTES_MAX)
		return end;
	at = s->stepped.sp;
	for (u32 i = 0; i < LANDING_WORDS; i++, at += 8) {
		if (stack_word_from(walk, at, at))
			break;
		if (s->searched != s->stepped.pc)
			continue;
		s->landing = LANDING_AGAIN;
		s->regs.pc = s->stepped.pc;
		s->regs.sp = at + 8;
		s->regs.fp = s->stepped.fp;
		s->regs.exact = 0;
		return END_NONE;
	}
	return end;
}

/* From the stack of a Go thread to the goroutine that it serves: CFA_GOROUTINE. */
WALK_GLOBAL u32 walk_step_goroutine(u64 walk, s32 g, s32 curg, u32 add)
{
	struct scratch *s = scratch_of(walk);
	u64 at, sp, pc;

	if (!s || walk_read(walk, &at, sizeof(at), thread_base_of(s) + (s64)g) ||
		walk_read(walk, &at, sizeof(at), at + GO_G_M) ||
		walk_read(walk, &at, sizeof(at), at + (s64)curg))
		return END_STACK_READ;
	if (at == 0)
		return END_ROOT;
	at += GO_G_SP;
	if (walk_read(walk, &sp, sizeof(sp), at) ||
		walk_read(walk, &pc, sizeof(pc), add ? sp + add - 8 : at + 8))
		return END_STACK_READ;
	s->regs.pc = pc;
	s->regs.sp = sp + add;
	s->regs.exact = 0;
	return END_NONE;
}
