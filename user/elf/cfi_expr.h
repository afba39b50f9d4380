/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_expr.h - what a DWARF expression in call frame information amounts to.
 * The expression is followed with symbols instead of registers, so any sequence of operations that
 * ends in one of the shapes below is recognised, whoever wrote it. DWARF 5 §2.5, §6.4.2. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* Stands for the CFA where a register number would be. */
#define CFI_REG_CFA 255

/* Numbers of the registers of DWARF that a value may name. Those above, up to CFI_REG_CFA, are
 * RULE_REG_INDEXED (bpf/abi_rows.h) and a register: what a sum of x86-64's rsp and 8 times that
 * register amounts to. */
#define CFI_REG_MAX 127

enum cfi_value_kind {
	CFI_VALUE_UNKNOWN = 0, /* none of these shapes */
	CFI_VALUE_FAR,         /* one of them, with a number that 32 bits do not hold */
	CFI_VALUE_ADDR,        /* reg + off */
	CFI_VALUE_DEREF,       /* *(reg + off) + add */
	CFI_VALUE_PLT,         /* rsp + 8 + ((rip & 15) >= off ? 8 : 0) */
};

struct cfi_value {
	uint8_t kind; /* enum cfi_value_kind */
	uint8_t reg;  /* DWARF register number, an indexed one, or CFI_REG_CFA */
	int32_t off;
	int32_t add;
};

struct cfi_value cfi_value_addr(uint64_t reg, int64_t off);

/* cfa_pushed: the expression finds the CFA on its stack, as those of registers do and that of the
 * CFA itself does not. Never fails: what cannot be followed, or is cut off, is CFI_VALUE_UNKNOWN.
 */
struct cfi_value cfi_expr_eval(struct bytes expr, bool cfa_pushed);
