/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/unwind.bpf.h - one step up the user stack by rule or frame pointer, and the search for the
 * rule. No maps and no SEC: compiles for the host too, where it runs on recorded stacks. A step
 * returns END_NONE, or the reason why the walk ends; then regs are unchanged. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"

#define UNWIND_GPRS_MAX 32

/* The return address is zero, the frame pointer is not: the walk ends, and frame.bpf.h decides
 * whether at the root. */
#define END_ZERO STACK_ENDS_LEN

struct unwind_regs {
	u64 pc;
	u64 sp;
	u64 fp;
	u64 gpr[UNWIND_GPRS_MAX]; /* of the interrupted instruction, by DWARF number */
	u32 exact;                /* pc was interrupted; else it is a return address */
	u32 pad;
};

struct unwind_place {
	u64 pc, sp, fp;
	u64 callee; /* pc of the frame below */
	u64 how;    /* how pc was reached: FRAME_BY_*; also not 0: it was interrupted there */
	u32 again;  /* no call pushed this address, the frame begins there: it is to be repeated */
	u32 begins; /* set for that repeated frame: the value of again */
	u32 ended;  /* why the walk ended before this frame was taken back */
};

/* An instruction of a function that was interrupted. */
struct insn {
	u64 code;   /* what follows the opcode */
	s64 number; /* immediate, or displacement after a SIB byte */
	u32 op;     /* after 0f: 256 more */
	u32 bytes, head, wide, forms, rex, modrm, sib;
};

/* Use of the stack by the instructions from an interrupted place on. Depths are bytes above the
 * stack pointer there. */
struct unwind_way {
	u64 at;        /* the next instruction */
	s64 depth;     /* of the stack pointer at `at`; of the return address, once it is found */
	s64 saved;     /* of the frame pointer that was pushed */
	s64 fp;        /* of the caller's frame pointer; WAY_NOWHERE: in its register */
	s64 popped_at; /* of the register that was popped last */
	s64 copy;      /* of a word that was pushed again, and where it came from */
	s64 copied;
	u64 branch; /* target of a conditional jump, and the depth there; 0: none */
	s64 branch_depth;
	u32 popped; /* the register's number in an instruction, plus 1 */
	u32 pushed; /* the same of the push just before `at`; 0: there is none */
	u32 saves;  /* the frame pointer was pushed */
	u32 called; /* there was a call: it may have dropped its arguments */
	u32 lost;   /* the depth is unknown */
	u32 found;  /* WAY_* */
	u32 plain;  /* there were instructions that may write registers */
	u32 forked; /* there was a conditional jump */
	u32 second; /* on the way where the jump is taken; found on the first way: */
	s64 first_depth, first_fp;
	u64 first_how;
	u64 how; /* FRAME_BY_*, if the return address is there */
	struct insn insn;
};

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#include "bpf/arch_arm64.h"
#else
#include "bpf/arch_x86.h"
#endif

/* ---- stack memory: a window, because frames are close together ------------------------------ */

#define WINDOW_WORDS 128
#define WINDOW_BYTES (WINDOW_WORDS * 8)
/* Used near the end of the stack's mapping, where a whole window cannot be read. */
#define WINDOW_NARROW_BYTES 64

struct unwind_window {
	u64 base;   /* 0: empty */
	u32 bytes;  /* number of valid bytes */
	u32 narrow; /* a whole window could not be read */
	u64 words[WINDOW_WORDS];
#ifndef __bpf__
	const void *memory; /* passed to shim_read_user */
#endif
};

static __always_inline int unwind_move(struct unwind_window *w, u64 base)
{
	w->base = base;
	w->bytes = WINDOW_BYTES;
	if (!w->narrow && shim_read_user(w->memory, w->words, WINDOW_BYTES, base) == 0)
		return 0;
	w->narrow = 1;
	w->bytes = WINDOW_NARROW_BYTES;
	if (shim_read_user(w->memory, w->words, WINDOW_NARROW_BYTES, base) == 0)
		return 0;
	w->base = 0;
	return -1;
}

/* Reads the word at addr. If it is outside the window, the window moves to `from` (<= addr). */
static __always_inline int unwind_word(struct unwind_window *w, u64 addr, u64 from, u64 *value)
{
	u64 at = addr - w->base;

	if (w->base == 0 || at > w->bytes - 8 || (at & 7)) {
		if (addr - from > WINDOW_NARROW_BYTES - 8 || ((addr - from) & 7))
			from = addr;
		at = addr - from;
		if (unwind_move(w, from))
			return shim_read_user(w->memory, value, sizeof(*value), addr);
	}
	*value = w->words[(at >> 3) & (WINDOW_WORDS - 1)];
	return 0;
}

/* ---- the search (layout: bpf/abi_rows.h) --------------------------------------------------------
 */

/* Rule id at a file offset, in the page's data at `page`. */
static __always_inline u32 unwind_search(const struct shim_rows *rows, u64 offset)
{
	u32 chunk = (offset >> ROWS_CHUNK_SHIFT) & (ROWS_CHUNKS - 1), low = offset & 0xff;
	u32 from = shim_rows_u16(rows, chunk * 2), to = shim_rows_u16(rows, chunk * 2 + 2);
	u32 rules = ROWS_INDEX_BYTES;
	u32 starts = rules + 2 * shim_rows_u16(rows, ROWS_CHUNKS * 2);

	/* from .. to shrinks to the first row after the offset: at most 256 rows a chunk. */
	for (int i = 0; i <= ROWS_CHUNK_SHIFT; i++) {
		u32 middle = (from + to) >> 1;

		if (from >= to)
			break;
		if (shim_rows_u8(rows, starts + middle) <= low)
			from = middle + 1;
		else
			to = middle;
	}
	return shim_rows_u16(rows, rules + 2 * (from - 1));
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Scratch registers are not restored: a rule that needs one is valid only if the callees left it
 * alone. Assembly can know that of its own routines. */
static __always_inline bool unwind_knows(const struct unwind_regs *regs, u32 reg)
{
	return regs->exact || (ARCH_SCRATCH >> (reg & (UNWIND_GPRS_MAX - 1)) & 1);
}

static __always_inline bool unwind_register(const struct unwind_regs *regs, u32 reg, u64 *value)
{
	if (reg == ARCH_DWARF_SP)
		*value = regs->sp;
	else if (reg == ARCH_DWARF_FP)
		*value = regs->fp;
	else if (!unwind_knows(regs, reg))
		return false;
	else if (reg & RULE_REG_INDEXED)
		*value = regs->sp + 8 * regs->gpr[reg & (UNWIND_GPRS_MAX - 1)];
	else
		*value = regs->gpr[reg & (UNWIND_GPRS_MAX - 1)];
	return true;
}

/* Restores all registers as they were when the signal came. */
static __always_inline u32 unwind_signal_step(struct unwind_regs *regs, struct unwind_window *w)
{
	static const u8 order[ARCH_SIGNAL_REGS] = ARCH_SIGNAL_ORDER;
	u64 *saved = w->words; /* arm64's need over half of a program's stack */

	_Static_assert(ARCH_SIGNAL_REGS < WINDOW_WORDS, "a signal frame's registers fit");
	w->base = 0;
	if (shim_read_user(w->memory, saved, (ARCH_SIGNAL_REGS + 1) * sizeof(*saved),
		    regs->sp + ARCH_SIGNAL_REGS_AT))
		return END_STACK_READ;
	/* Unrolled: otherwise the compiler emits a table whose name is not valid BTF. */
	UNROLL
	for (int i = 0; i < ARCH_SIGNAL_REGS; i++)
		regs->gpr[order[i]] = saved[i];
	regs->pc = saved[ARCH_SIGNAL_REGS];
	regs->sp = regs->gpr[ARCH_DWARF_SP];
	regs->fp = regs->gpr[ARCH_DWARF_FP];
	regs->exact = 1;
	return regs->pc == 0 ? END_NO_MAPPING : END_NONE; /* a call of NULL */
}

static __always_inline u32 unwind_cfa(
	struct unwind_regs *regs, struct unwind_window *w, const struct unwind_rule *rule, u64 *cfa)
{
	u64 base;

	if (rule->cfa == CFA_PLT) {
		*cfa = regs->sp + 8 + ((regs->pc & 15) >= (u32)rule->cfa_off ? 8 : 0);
		return END_NONE;
	}
	if (rule->cfa != CFA_REG && rule->cfa != CFA_DEREF && rule->cfa != CFA_SWITCH)
		return END_UNSUPPORTED;
	if (rule->cfa == CFA_REG && rule->cfa_add != 0 && !regs->exact) {
		*cfa = regs->sp + (s64)rule->cfa_add;
		return END_NONE;
	}
	if (!unwind_register(regs, rule->cfa_reg, &base))
		return END_REGISTER;
	base += (s64)rule->cfa_off;
	if (rule->cfa == CFA_DEREF) {
		if (unwind_word(w, base, base, &base))
			return END_STACK_READ;
		base += (s64)rule->cfa_add;
	}
	*cfa = base;
	return END_NONE;
}

/* An unavailable frame pointer. It leads nowhere, so the walk ends at a caller that needs it; and
 * it is not the zero of an outermost frame. */
#define UNWIND_FP_LOST 1

/* The caller's frame pointer; the rule may leave *fp unchanged. */
static __always_inline u32 unwind_fp(struct unwind_regs *regs, struct unwind_window *w,
	const struct unwind_rule *rule, u64 cfa, u64 *fp)
{
	u64 at;

	if (rule->fp == FP_AT_CFA)
		at = cfa;
	else if (rule->fp == FP_AT_FP)
		at = regs->fp;
	else if (rule->fp == FP_AT_SP)
		at = regs->sp;
	else {
		if (rule->fp == FP_LOST ||
			(rule->fp == FP_REG && !unwind_register(regs, (u32)rule->fp_off, fp)))
			*fp = UNWIND_FP_LOST;
		return END_NONE;
	}
	at += (s64)rule->fp_off;
	return unwind_word(w, at, at, fp) ? END_STACK_READ : END_NONE;
}

static __always_inline u32 unwind_ra(struct unwind_regs *regs, struct unwind_window *w,
	const struct unwind_rule *rule, u64 cfa, u64 *ra)
{
	if (rule->ra == RA_AT_CFA)
		return unwind_word(w, cfa + (s64)rule->ra_off, cfa + (s64)rule->ra_off, ra)
			? END_STACK_READ
			: END_NONE;
	if (rule->ra == RA_REG)
		return unwind_register(regs, (u32)rule->ra_off, ra) ? END_NONE : END_REGISTER;
	return rule->ra == RA_UNDEFINED ? END_ROOT : END_UNSUPPORTED;
}

static __always_inline u32 unwind_rule_step(
	struct unwind_regs *regs, struct unwind_window *w, const struct unwind_rule *rule)
{
	u64 cfa, ra, fp = regs->fp;
	u32 end;

	if (rule->cfa == CFA_SIGNAL)
		return unwind_signal_step(regs, w);
	if (rule->ra == RA_UNDEFINED)
		return END_ROOT;
	end = unwind_cfa(regs, w, rule, &cfa);
	if (end)
		return end;
	/* The CFA must be above sp; only the interrupted function may have used no stack. */
	if ((cfa < regs->sp && rule->cfa != CFA_SWITCH) || (cfa == regs->sp && !regs->exact))
		return END_CFA;
	/* fp before ra: it is at a lower address, and the window is filled upwards from there. */
	end = unwind_fp(regs, w, rule, cfa, &fp);
	if (end == END_NONE)
		end = unwind_ra(regs, w, rule, cfa, &ra);
	if (end)
		return end;
	ra = arch_code_address(ra);
	/* The outermost frame has neither caller nor caller's frame (psABI §3.4.1); that of a fiber
	 * may have any frame pointer. The rule where code was interrupted may be wrong by an
	 * instruction, so a zero alone proves nothing there. */
	if (ra == 0)
		return fp != 0 && regs->exact ? END_NO_MAPPING : END_ZERO;
	regs->pc = ra;
	regs->sp = cfa;
	regs->fp = fp;
	regs->exact = 0;
	return END_NONE;
}

/* Steps along a chain of frame pointers: [fp] is the caller's fp, [fp + 8] the return address
 * (x86-64 psABI §3.2.2, AAPCS64 §6.2.3). The frame must be above the stack in use. A zero ends the
 * chain and proves no root: code without rows may use the register for data. */
static __always_inline u32 unwind_fp_step(struct unwind_regs *regs, struct unwind_window *w)
{
	u64 fp, ra;

	if (regs->fp == 0 || regs->fp < regs->sp || (regs->fp & 7))
		return END_FP_CHAIN;
	if (unwind_word(w, regs->fp, regs->fp, &fp) || unwind_word(w, regs->fp + 8, regs->fp, &ra))
		return END_STACK_READ;
	ra = arch_code_address(ra);
	if (ra == 0)
		return END_FP_CHAIN;
	regs->sp = regs->fp + 16;
	regs->fp = fp;
	regs->pc = ra;
	regs->exact = 0;
	return END_NONE;
}
