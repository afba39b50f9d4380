/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_expr.h - the value of a DWARF expression in call frame information.
 * The expression is evaluated with symbols instead of registers. So any sequence of operations that
 * results in one of the shapes below is recognised. DWARF 5 §2.5, §6.4.2. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* Used in place of a register number: the CFA. */
#define CFI_REG_CFA 255

/* Highest DWARF register number of a value. Numbers above, up to CFI_REG_CFA, are RULE_REG_INDEXED
 * (bpf/abi_rows.h) plus a register: the sum of x86-64's rsp and 8 times that register. */
#define CFI_REG_MAX 127

enum cfi_value_kind {
	CFI_VALUE_UNKNOWN = 0, /* none of these shapes */
	CFI_VALUE_FAR,         /* a known shape with a number beyond 32 bits */
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

/* cfa_pushed: the expression starts with the CFA on its stack, as for register rules but not for
 * the CFA itself. Never fails: an unknown or truncated expression is CFI_VALUE_UNKNOWN. */
struct cfi_value cfi_expr_eval(struct bytes expr, bool cfa_pushed);
