/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_rule.h - one row of the call frame table, and its form for the unwinder.
 * Only what a stack walk needs is kept of a row: CFA, return address, frame pointer, and the stack
 * pointer where it is said to be something else than the CFA. DWARF 5 §6.4.1; register numbers and
 * which registers a callee must keep: System V x86-64 psABI §3.2, §3.6.2; AADWARF64 §4.1. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/cfi_expr.h"

/* Why a row says less than its source: name, sentence. One row may count under several. */
#define CFI_LOST_LIST(X)                                                                       \
	X(CFA_MISSING, "cfa_missing", "no CFA rule at all")                                    \
	X(CFA_EXPRESSION, "cfa_expression", "a CFA expression of a shape that is not known")   \
	X(CFA_FAR, "cfa_far", "a CFA offset beyond 32 bits")                                   \
	X(SP_RULE, "sp_rule", "a stack pointer by a rule that is not known")                   \
	X(RA_RULE, "ra_rule", "a return address that is neither by the CFA nor in a register") \
	X(RA_FAR, "ra_far", "a return address more than 32 KiB from the CFA")                  \
	X(FP_RULE, "fp_rule", "a frame pointer by a rule that is not known, or given up")      \
	X(FP_FAR, "fp_far", "a frame pointer more than 32 KiB from the CFA")

enum cfi_lost {
#define X(id, name, text) CFI_LOST_##id,
	CFI_LOST_LIST(X)
#undef X
		CFI_LOST_MAX
};

struct cfi_arch {
	uint16_t machine; /* EM_* */
	uint8_t sp;
	uint8_t fp;
	bool link_register;  /* an RA that no rule was given for is still in its register */
	int32_t sigframe_sp; /* sp + this holds the interrupted sp in a signal frame; 0: any rule
				goes */
};

/* EM_X86_64 and EM_AARCH64; NULL for all others. */
const struct cfi_arch *cfi_arch_find(uint16_t machine);

enum cfi_rule_kind {
	CFI_RULE_DEFAULT = 0, /* none was given */
	CFI_RULE_UNDEFINED,
	CFI_RULE_SAME,
	CFI_RULE_AT, /* in memory at the value */
	CFI_RULE_IS, /* the value itself */
};

struct cfi_rule {
	struct cfi_value value;
	uint8_t kind; /* enum cfi_rule_kind */
};

/* The registers whose rules are kept. */
enum cfi_tracked {
	CFI_RA,
	CFI_FP,
	CFI_SP,
	CFI_TRACKED_LEN,
};

/* A row. While the CFA is an expression, reg and off are remembered below it, for a later
 * DW_CFA_def_cfa_register leaves the offset as it last was. */
struct cfi_state {
	struct cfi_value cfa_expr;
	uint64_t cfa_reg;
	int64_t cfa_off;
	bool cfa_set;
	bool cfa_is_expr;
	struct cfi_rule rules[CFI_TRACKED_LEN];
};

/* What cannot be said becomes CFA_UNSUPPORTED, RA_UNSUPPORTED or FP_LOST, never something near it,
 * and is counted in lost[]. Equal rows give equal bytes.
 * signal_frame: the function is marked 'S'; that makes it CFA_SIGNAL if its rules are those of the
 * machine's signal frame, for code that switches stacks by other means carries the mark too.
 * ra: the column of the return address. */
void cfi_rule_encode(const struct cfi_state *state, const struct cfi_arch *arch, uint64_t ra,
	bool signal_frame, uint32_t lost[CFI_LOST_MAX], struct unwind_rule *out);
