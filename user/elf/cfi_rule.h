/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_rule.h - one row of the call frame table, and its form for the unwinder.
 * A row keeps only what a stack walk needs: CFA, return address, frame pointer, and the stack
 * pointer if it differs from the CFA. DWARF 5 §6.4.1; register numbers and callee-saved registers:
 * System V x86-64 psABI §3.2, §3.6.2; AADWARF64 §4.1. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/cfi_expr.h"

/* Why a row is less exact than its source: name, sentence. A row may count under several. */
#define CFI_LOST_LIST(X)                                                                        \
	X(CFA_MISSING, "cfa_missing", "no CFA rule at all")                                     \
	X(CFA_EXPRESSION, "cfa_expression", "a CFA expression of an unsupported shape")         \
	X(CFA_FAR, "cfa_far", "a CFA offset beyond 32 bits")                                    \
	X(SP_RULE, "sp_rule", "an unsupported rule for the stack pointer")                      \
	X(RA_RULE, "ra_rule", "a return address neither relative to the CFA nor in a register") \
	X(RA_FAR, "ra_far", "a return address more than 32 KiB from the CFA")                   \
	X(FP_RULE, "fp_rule", "an unsupported or undefined frame pointer")                      \
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
	bool link_register;  /* without a rule the RA is in its register */
	int32_t sigframe_sp; /* a signal frame's sp is stored at sp + this; 0: not checked */
};

/* EM_X86_64 and EM_AARCH64; NULL for all others. */
const struct cfi_arch *cfi_arch_find(uint16_t machine);

enum cfi_rule_kind {
	CFI_RULE_DEFAULT = 0, /* no rule given */
	CFI_RULE_UNDEFINED,
	CFI_RULE_SAME,
	CFI_RULE_AT, /* in memory at the value */
	CFI_RULE_IS, /* the value itself */
};

struct cfi_rule {
	struct cfi_value value;
	uint8_t kind; /* enum cfi_rule_kind */
};

/* Registers whose rules are kept. */
enum cfi_tracked {
	CFI_RA,
	CFI_FP,
	CFI_SP,
	CFI_TRACKED_LEN,
};

/* A row. While the CFA is an expression, reg and off keep their latest values, because a later
 * DW_CFA_def_cfa_register reuses the offset. */
struct cfi_state {
	struct cfi_value cfa_expr;
	uint64_t cfa_reg;
	int64_t cfa_off;
	bool cfa_set;
	bool cfa_is_expr;
	struct cfi_rule rules[CFI_TRACKED_LEN];
};

/* A rule that cannot be encoded becomes CFA_UNSUPPORTED, RA_UNSUPPORTED or FP_LOST, never an
 * approximation, and is counted in lost[]. Equal rows give equal bytes.
 * signal_frame: the function is marked 'S'. It becomes CFA_SIGNAL only if its rules match the
 * machine's signal frame, because other code that switches stacks has the mark too.
 * ra: the column of the return address. */
void cfi_rule_encode(const struct cfi_state *state, const struct cfi_arch *arch, uint64_t ra,
	bool signal_frame, uint32_t lost[CFI_LOST_MAX], struct unwind_rule *out);
