/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/uncovered_x86.bpf.h - steps from code without a table on x86-64. Part of bpf/frame.bpf.h.
 * JITs keep a chain of frame pointers. Assembly in a library keeps none: there the walk searches
 * the stack for a word that looks like a return address. Each step that the code itself does not
 * prove is noted in s->how. */
#pragma once

#include "bpf/way_out_x86.bpf.h"

#define FUNCTION_BYTES_MAX (1 << 16)
#define SEARCH_WORDS 48
#define NO_CALL 0
#define SOME_CALL 1
#define ENDBR64 0xfa1e0ff3U

/* The length of FF /2 with this ModRM and SIB byte; 0: another operation (Intel SDM vol. 2, tables
 * 2-2 and 2-3). */
static __always_inline u32 call_bytes(u8 modrm, u8 sib)
{
	u32 mod = modrm >> 6, rm = modrm & 7, len = mod != 3 && rm == 4 ? 3 : 2;

	if ((modrm & 0x38) != 0x10)
		return 0;
	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		return len + 4;
	return mod == 1 ? len + 1 : len;
}

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
	return (code[6] == 0xff && call_bytes(code[7], 0) == 2) ||
		(code[5] == 0xff && call_bytes(code[6], code[7]) == 3) ||
		(code[4] == 0xff && call_bytes(code[5], code[6]) == 4) ||
		(code[2] == 0xff && call_bytes(code[3], code[4]) == 6) ||
		(code[1] == 0xff && call_bytes(code[2], code[3]) == 7);
}

/* Can a call of `target` have led to the function that contains pc? The target is not far before
 * it, or a stub that jumps on: `[endbr64] [bnd] jmp`. User space checks the rest (agent/calls.h).
 */
WALK_GLOBAL bool leads_to(u64 walk, u64 target, u64 pc)
{
	u64 code;

	if (target == SOME_CALL || pc - target < FUNCTION_BYTES_MAX)
		return true;
	if (walk_read(walk, &code, sizeof(code), target))
		return false;
	if ((u32)code == ENDBR64)
		code >>= 32;
	if ((code & 0xff) == 0xf2)
		code >>= 8;
	return (code & 0xff) == 0xe9 || (code & 0xff) == 0xeb || (code & 0xffff) == 0x25ff;
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

/* A word of the stack may be stale: then its call leads elsewhere, and it is passed over. */
static __always_inline bool is_from_here(struct scratch *s, u64 address)
{
	u64 target = call_before(walk_of(s), address);

	return target != NO_CALL && leads_to(walk_of(s), target, s->regs.pc);
}

static __always_inline bool go_back_to(struct scratch *s, u64 address, u64 sp)
{
	if (call_before(walk_of(s), address) == NO_CALL || mapping_find(s, address - 1) != END_NONE)
		return false;
	s->regs.pc = address;
	s->regs.sp = sp;
	s->regs.exact = 0;
	s->how = FRAME_BY_GUESS;
	return true;
}

/* Does the call before this address lead to the function that contains pc? */
static __always_inline bool calls_here(struct scratch *s, u64 address)
{
	return s->regs.pc - call_before(walk_of(s), address) < FUNCTION_BYTES_MAX;
}

/* Has the call before this address led to the very instruction at pc, or to an endbr64 before it?
 * Then the address is its return address: a linker's stub without a table is one jump. */
static __always_inline bool is_entered_from(struct scratch *s, u64 address, u64 pc)
{
	u64 target = call_before(walk_of(s), address);
	u32 code;

	if (target != pc - sizeof(code))
		return target == pc;
	return walk_read(walk_of(s), &code, sizeof(code), target) == 0 && code == ENDBR64;
}

/* The interrupted code shows where its return address is: s->way. True: the step is done. */
WALK_GLOBAL bool way_out_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 sp, word, fp, pc;

	if (!s)
		return false;
	s->how = FRAME_BY_GUESS; /* of the step that follows if this one fails */
	pc = s->regs.pc;
	sp = s->regs.sp;
	fp = s->regs.fp;
	if (s->way.fp != WAY_NOWHERE && unwind_word(&s->window, sp + s->way.fp, sp, &fp))
		return false;
	if (s->way.found == WAY_REGISTER) {
		word = s->regs.gpr[dwarf_register(s->way.pushed - 1)];
	} else {
		sp += s->way.depth;
		if (unwind_word(&s->window, sp, s->regs.sp, &word))
			return false;
		sp += 8;
	}
	if (!go_back_to(s, word, sp))
		return false;
	s->regs.fp = fp;
	s->how = s->way.how;
	if (s->how && s->way.depth == 0 && s->way.found == WAY_STACK &&
		is_entered_from(s, word, pc))
		s->how = 0;
	return true;
}

/* A leaf in code without tables may have no frame. Then its return address is on top of the stack,
 * and a step by frame pointer would skip its caller. True: the step is done. */
WALK_GLOBAL bool frameless_leaf_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 word;
	bool near;

	if (!s || unwind_word(&s->window, s->regs.sp, s->regs.sp, &word))
		return false;
	near = calls_here(s, word);
	if (!go_back_to(s, word, s->regs.sp + 8))
		return false;
	if (near)
		s->how = FRAME_BY_CHAIN; /* as good as a frame, in the code of a runtime */
	return true;
}

/* Kinds of code at a return address; the first is known where it was interrupted, too.
 * CALLER_RETURNS_SIGNAL: `mov $15,%rax; syscall` (rt_sigreturn),
 * as C libraries and Go write it. CALLER_ENDS_THREAD, which nobody has called: `mov %eax,%edi;
 * xor %eax,%eax; mov $60,%al; syscall`, as in musl's __clone. CALLER_HALTS: `hlt`. */
#define CALLER_OTHER 0
#define CALLER_RETURNS_SIGNAL 1
#define CALLER_ENDS_THREAD 2
#define CALLER_HALTS 3

#define SIGRETURN_CODE 0x0f0000000fc0c748ULL
#define SIGRETURN_SHORT 0x00050f0000000fb8ULL /* mov $15,%eax; syscall */
#define SIGRETURN_NUMBER 15
#define SIGRETURN_SYSCALL 7        /* offset of its second instruction */
#define SYSCALL_ENTERED (u64)(-38) /* the kernel puts -ENOSYS in place of the number */

/* Where that code begins, if it was interrupted: at its first instruction, its second, or after
 * it, in the kernel. */
static __always_inline u64 sigreturn_start(const struct unwind_regs *regs)
{
	if (regs->gpr[0] == SIGRETURN_NUMBER)
		return regs->pc - SIGRETURN_SYSCALL;
	return regs->gpr[0] == SYSCALL_ENTERED ? regs->pc - SIGRETURN_SYSCALL - 2 : regs->pc;
}

WALK_GLOBAL u32 caller_kind(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 code;

	if (!s || (s->regs.exact && s->at.kind != FRAME_FILE) ||
		walk_read(walk, &code, sizeof(code),
			s->regs.exact ? sigreturn_start(&s->regs) : s->regs.pc))
		return CALLER_OTHER;
	if (code == SIGRETURN_CODE)
		return CALLER_RETURNS_SIGNAL;
	if (s->regs.exact)
		return CALLER_OTHER;
	if ((code & 0xffffffffffffffULL) == SIGRETURN_SHORT)
		return CALLER_RETURNS_SIGNAL;
	if (code == 0x050f3cb0c031c789ULL)
		return CALLER_ENDS_THREAD;
	return (code & 0xff) == 0xf4 ? CALLER_HALTS : CALLER_OTHER;
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
	if (is_from_here(s, word) && go_back_to(s, word, at + 8))
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

/* Do two frames of a chain follow, each of which a call made? Such a chain is no accident, even if
 * its first call led elsewhere: generated code jumps from function to function. */
WALK_GLOBAL bool chain_continues(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 fp;

	if (!s)
		return false;
	fp = s->regs.fp;
	if (fp < s->regs.sp || call_of_frame(s, fp) == NO_CALL ||
		stack_word_from(walk, fp, s->regs.sp))
		return false;
	return s->searched > fp && call_of_frame(s, s->searched) != NO_CALL;
}

#include "bpf/roots_x86.bpf.h"

#define SKIPPED_WORDS 16

/* Is this a return address into the function that begins at target? */
WALK_GLOBAL bool returns_into(u64 walk, u64 target, u64 word)
{
	return word - target < FUNCTION_BYTES_MAX && call_before(walk, word) != NO_CALL;
}

/* Is the frame pointer still that of the interrupted function's caller? Then the call of that frame
 * led to the caller, `target`, and a return address into it is near the top of the stack, or in a
 * register while arguments are moved. */
WALK_GLOBAL bool skips_caller(u64 walk, u64 target, u64 sp)
{
	struct scratch *s = scratch_of(walk);

	for (u32 i = 0; s && i < ARCH_GPRS; i++)
		if (returns_into(walk, target, s->regs.gpr[i]))
			return true;
	for (u32 i = 0; s && i < SKIPPED_WORDS && sp + 8 * i < s->stepped.fp; i++)
		if (stack_word_from(walk, sp + 8 * i, sp) == 0 &&
			returns_into(walk, target, s->searched))
			return true;
	return false;
}

WALK_GLOBAL u32 chain_step(u64 walk)
{
	struct scratch *s = scratch_of(walk);
	u64 pc, sp, target;
	u32 end;

	if (!s)
		return END_NO_REGS;
	pc = s->regs.pc;
	sp = s->regs.sp;
	end = unwind_fp_step(&s->regs, &s->window);
	if (end != END_NONE)
		return end;
	target = call_before(walk, s->regs.pc);
	s->how |= FRAME_BY_CHAIN;
	if (target == NO_CALL ||
		(s->way.found == WAY_UNKNOWN && target != SOME_CALL &&
			pc - target >= FUNCTION_BYTES_MAX && skips_caller(walk, target, sp)))
		s->how |= FRAME_BY_GUESS;
	return END_NONE;
}

/* covered: other code of this file has a table. */
WALK_GLOBAL u32 walk_step_without_rule(u64 walk, u32 covered)
{
	struct scratch *s = scratch_of(walk);
	u32 kind;

	if (!s)
		return END_NO_REGS;
	kind = caller_kind(walk);
	if (kind == CALLER_RETURNS_SIGNAL)
		return unwind_signal_step(&s->regs, &s->window);
	if (kind == CALLER_ENDS_THREAD || is_process_entry(s, kind))
		return END_ROOT;
	if (s->regs.exact && is_new_thread(walk, s->regs.pc, s->regs.gpr[0]))
		return END_ROOT;
	if (!s->regs.exact && entry_step(walk))
		return END_NONE;
	if (covered && begins_here(s)) {
		s->stepped.again = AGAIN_WITHOUT_RULE;
		s->user.head.frames_len--;
		return END_NONE;
	}
	s->way.found = s->regs.exact || s->stepped.begins ? way_out(walk) : WAY_FRAMED;
	if (s->way.found == WAY_UNKNOWN && s->stepped.begins)
		return is_last_call(walk, s->regs.pc) ? END_ROOT : chain_step(walk);
	if (s->way.found == WAY_UNKNOWN ? frameless_leaf_step(walk)
					: s->way.found != WAY_FRAMED && way_out_step(walk))
		return END_NONE;
	if (covered && !has_frame(s) && !chain_continues(walk) && search_step(s))
		return END_NONE;
	return chain_step(walk);
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

	if (!s || walk_read(walk, words, sizeof(words), at) || words[2] >= LAZY_RELOCATIONS_MAX ||
		walk_read(walk, &real, sizeof(real), words[1] + LINK_MAP_REAL) ||
		real != words[1] || !go_back_to(s, words[3], at + sizeof(words)))
		return false;
	s->how = 0; /* the link map proves it */
	return true;
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

#define LANDING_TURNS 32
#define LANDING_TURN_WORDS 32 /* loops in two levels: the verifier follows each turn of a loop */
#define LANDING_UNREADABLE 1  /* no address of a word */

/* The address of the first of a turn's words from `at` on that is the return address of the step
 * before. 0: none is; LANDING_UNREADABLE. */
WALK_GLOBAL u64 landing_among(u64 walk, u64 at)
{
	struct scratch *s = scratch_of(walk);

	for (u32 i = 0; s && i < LANDING_TURN_WORDS; i++, at += 8) {
		if (stack_word_from(walk, at, at))
			return LANDING_UNREADABLE;
		if (s->searched == s->stepped.pc)
			return at;
	}
	return 0;
}

/* Repairs a walk that failed while a C++ exception is about to land. At that moment the unwinder's
 * frame already holds the registers of the catching function, far above all unwound frames, as if
 * it had called the unwinder. Its stack pointer is unknown: it is the word above the second copy of
 * the same return address. If found, the result is END_NONE and the caller repeats the step; else
 * `end`. */
WALK_GLOBAL u32 walk_landing(u64 walk, u32 end)
{
	struct scratch *s = scratch_of(walk);
	u64 found = 0;

	if (!s || s->user.head.frames_len < 2 || s->landing)
		return end;
	s->landing = LANDING_DONE;
	/* A real call is no landing: the walk failed for another reason. */
	if (s->stepped.callee - call_before(walk, s->stepped.pc) < FUNCTION_BYTES_MAX)
		return end;
	for (u32 i = 0; i < LANDING_TURNS && found == 0; i++)
		found = landing_among(walk, s->stepped.sp + i * LANDING_TURN_WORDS * 8);
	if (found == 0 || found == LANDING_UNREADABLE)
		return end;
	s->landing = LANDING_AGAIN;
	s->regs.pc = s->stepped.pc;
	s->regs.sp = found + 8;
	s->regs.fp = s->stepped.fp;
	s->regs.exact = 0;
	return END_NONE;
}

/* From the stack of a Go thread to the goroutine that it serves: CFA_GOROUTINE. */
WALK_GLOBAL u32 walk_step_goroutine(u64 walk, s32 g, s32 curg, u32 add, u32 bp)
{
	struct scratch *s = scratch_of(walk);
	u64 at, sp, pc, fp = UNWIND_FP_LOST;

	if (!s || walk_read(walk, &at, sizeof(at), thread_base_of(s) + (s64)g) ||
		walk_read(walk, &at, sizeof(at), at + GO_G_M) ||
		walk_read(walk, &at, sizeof(at), at + (s64)curg))
		return END_STACK_READ;
	if (at == 0)
		return END_ROOT;
	if (bp && walk_read(walk, &fp, sizeof(fp), at + bp))
		return END_STACK_READ;
	at += GO_G_SP;
	if (walk_read(walk, &sp, sizeof(sp), at) ||
		walk_read(walk, &pc, sizeof(pc), add ? sp + add - 8 : at + 8))
		return END_STACK_READ;
	s->regs.pc = pc;
	s->regs.sp = sp + add;
	s->regs.fp = fp;
	s->regs.exact = 0;
	return END_NONE;
}

/* From C code to the goroutine that called it: CFA_CGO. Where asmcgocall has a frame, the frame
 * pointer lies in it. */
WALK_GLOBAL u32 walk_step_cgo(u64 walk, s32 g, s32 depth, u32 room)
{
	struct scratch *s = scratch_of(walk);
	u64 cfa, low, frame[2];

	if (!s || walk_read(walk, &low, sizeof(low), s->regs.sp + (s64)depth) ||
		walk_read(walk, &cfa, sizeof(cfa), s->regs.sp + (s64)g) ||
		walk_read(walk, &cfa, sizeof(cfa), cfa + GO_G_STACK_HI))
		return END_STACK_READ;
	cfa += room - low;
	if (walk_read(walk, frame, sizeof(frame), cfa - sizeof(frame)))
		return END_STACK_READ;
	s->regs.pc = frame[1];
	s->regs.sp = cfa;
	if (room > sizeof(frame[1]))
		s->regs.fp = frame[0];
	s->regs.exact = 0;
	return END_NONE;
}

/* Is this `mov %reg,%rsp` (Intel SDM vol. 2, MOV), and the register not %rbp or %rsp? Without a
 * branch: the verifier would follow both ways of each. */
static __always_inline u32 loads_sp(const u8 *code)
{
	u32 other = ((code[0] & 0xfbU) ^ 0x48) | (code[1] ^ 0x89U) | ((code[2] & 0xc7U) ^ 0xc4);
	u32 not_frame = (code[0] ^ 0x48U) | ((code[2] & 0xf7U) ^ 0xe4);

	return ((other - 1) & -not_frame) >> 31; /* other is 0, not_frame is not */
}

#define LEFT_STACK_BYTES 128
#define LEFT_STACK_TURNS 6
#define LEFT_STACK_TURN_BYTES 21 /* so many turns of it are all places with room for 3 bytes */

/* Does one of a turn's instructions in s->window load the stack pointer? The first begins at
 * `from`. */
WALK_GLOBAL bool loads_sp_among(u64 walk, u32 from)
{
	struct scratch *s = scratch_of(walk);
	u32 loads = 0;

	if (!s || from > LEFT_STACK_BYTES - 2 - LEFT_STACK_TURN_BYTES)
		return false;
	for (u32 i = 0; i < LEFT_STACK_TURN_BYTES; i++)
		loads |= loads_sp((const u8 *)s->window.words + from + i);
	return loads;
}

/* The CFA, relative to the frame pointer, is below sp. Has the function left its caller's stack? It
 * loaded the stack pointer shortly before pc then: GCC's split stacks, and code that calls a
 * function on another stack. */
WALK_GLOBAL u32 walk_step_left_stack(u64 walk, s32 cfa, s32 ra, s32 fp)
{
	struct scratch *s = scratch_of(walk);
	u64 at, caller, callers_fp;
	bool loads = false;

	if (!s)
		return END_CFA;
	at = s->regs.fp + (s64)cfa;
	s->window.base = 0;
	if (at >= s->regs.sp ||
		walk_read(walk, s->window.words, LEFT_STACK_BYTES, s->regs.pc - LEFT_STACK_BYTES))
		return END_CFA;
	for (u32 i = 0; i < LEFT_STACK_TURNS && !loads; i++)
		loads = loads_sp_among(walk, i * LEFT_STACK_TURN_BYTES);
	if (!loads || walk_read(walk, &caller, sizeof(caller), at + (s64)ra) ||
		walk_read(walk, &callers_fp, sizeof(callers_fp), at + (s64)fp))
		return END_CFA;
	s->regs.pc = caller;
	s->regs.sp = at;
	s->regs.fp = callers_fp;
	s->regs.exact = 0;
	return END_NONE;
}
