/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_expr.c - evaluates a DWARF expression symbolically.
 * A stack of terms. Each is a constant, a register plus an offset (or a supported sum of two
 * registers), or one memory read plus an offset; any other result makes the whole value unknown.
 * The one exception is the conditional of PLT entries: linkers write it byte for byte, and it is
 * compared as such.
 * Time is linear in the expression's length. cfi_rule.c encodes values into unwind rules. */
#include "elf/cfi_expr.h"

#include <dwarf.h>
#include <stddef.h>

#include "bpf/abi.h"

#define STACK_MAX 8
#define X86_64_SP 7
#define X86_64_REGS 16
#define INDEX_SCALE 8

enum term_kind {
	TERM_CONST,
	TERM_ADDR,
	TERM_INDEX, /* 8 times the register */
	TERM_DEREF,
};

struct term {
	enum term_kind kind;
	uint8_t reg;
	int64_t off; /* of a constant: its value */
	int64_t add;
};

struct eval {
	struct cursor c;
	struct term stack[STACK_MAX];
	unsigned int depth;
	bool lost; /* left the shapes that are followed */
};

static void push(struct eval *e, struct term term)
{
	if (e->depth == STACK_MAX) {
		e->lost = true;
		return;
	}
	e->stack[e->depth++] = term;
}

static struct term pop(struct eval *e)
{
	if (e->depth == 0) {
		e->lost = true;
		return (struct term){ 0 };
	}
	return e->stack[--e->depth];
}

static void push_const(struct eval *e, int64_t value)
{
	push(e, (struct term){ .kind = TERM_CONST, .off = value });
}

static void push_reg(struct eval *e, uint64_t reg, int64_t off)
{
	if (reg > CFI_REG_MAX) {
		e->lost = true;
		return;
	}
	push(e, (struct term){ .kind = TERM_ADDR, .reg = (uint8_t)reg, .off = off });
}

static void add_const(struct eval *e, int64_t value)
{
	struct term term = pop(e);
	int64_t *slot = term.kind == TERM_DEREF ? &term.add : &term.off;

	if (term.kind == TERM_INDEX || __builtin_add_overflow(*slot, value, slot))
		e->lost = true;
	push(e, term);
}

static void multiply(struct eval *e)
{
	struct term b = pop(e);
	struct term a = pop(e);

	if (a.kind != TERM_ADDR || a.off != 0 || a.reg >= X86_64_REGS || b.kind != TERM_CONST ||
		b.off != INDEX_SCALE)
		e->lost = true;
	a.kind = TERM_INDEX;
	push(e, a);
}

static void plus(struct eval *e)
{
	struct term b = pop(e);
	struct term a = pop(e);

	if (a.kind == TERM_INDEX) {
		struct term t = a;

		a = b;
		b = t;
	}
	if (b.kind == TERM_INDEX) {
		if (a.kind != TERM_ADDR || a.reg != X86_64_SP)
			e->lost = true;
		a.reg = b.reg | RULE_REG_INDEXED;
		push(e, a);
		return;
	}
	if (b.kind != TERM_CONST) {
		struct term t = a;

		a = b;
		b = t;
	}
	if (b.kind != TERM_CONST)
		e->lost = true;
	push(e, a);
	add_const(e, b.off);
}

static void minus(struct eval *e)
{
	struct term b = pop(e);

	if (b.kind != TERM_CONST || b.off == INT64_MIN)
		e->lost = true;
	else
		add_const(e, -b.off);
}

static void deref(struct eval *e)
{
	struct term term = pop(e);

	if (term.kind != TERM_ADDR)
		e->lost = true;
	term.kind = TERM_DEREF;
	term.add = 0;
	push(e, term);
}

static void dup_top(struct eval *e)
{
	struct term term = pop(e);

	push(e, term);
	push(e, term);
}

static void swap(struct eval *e)
{
	struct term b = pop(e);
	struct term a = pop(e);

	push(e, b);
	push(e, a);
}

static bool step_const(struct eval *e, uint8_t op)
{
	switch (op) {
	case DW_OP_const1u:
		push_const(e, cursor_u8(&e->c));
		break;
	case DW_OP_const1s:
		push_const(e, (int8_t)cursor_u8(&e->c));
		break;
	case DW_OP_const2u:
		push_const(e, cursor_u16(&e->c));
		break;
	case DW_OP_const2s:
		push_const(e, (int16_t)cursor_u16(&e->c));
		break;
	case DW_OP_const4u:
		push_const(e, cursor_u32(&e->c));
		break;
	case DW_OP_const4s:
		push_const(e, (int32_t)cursor_u32(&e->c));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push_const(e, (int64_t)cursor_u64(&e->c));
		break;
	case DW_OP_constu:
		push_const(e, (int64_t)cursor_uleb(&e->c));
		break;
	case DW_OP_consts:
		push_const(e, cursor_sleb(&e->c));
		break;
	default:
		return false;
	}
	return true;
}

static void step(struct eval *e)
{
	uint8_t op = cursor_u8(&e->c);
	uint64_t reg;

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_reg(e, op - DW_OP_breg0, cursor_sleb(&e->c));
		return;
	}
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push_const(e, op - DW_OP_lit0);
		return;
	}
	if (step_const(e, op))
		return;
	switch (op) {
	case DW_OP_bregx:
		reg = cursor_uleb(&e->c);
		push_reg(e, reg, cursor_sleb(&e->c));
		break;
	case DW_OP_deref:
		deref(e);
		break;
	case DW_OP_dup:
		dup_top(e);
		break;
	case DW_OP_drop:
		pop(e);
		break;
	case DW_OP_swap:
		swap(e);
		break;
	case DW_OP_plus:
		plus(e);
		break;
	case DW_OP_minus:
		minus(e);
		break;
	case DW_OP_mul:
		multiply(e);
		break;
	case DW_OP_plus_uconst:
		add_const(e, (int64_t)cursor_uleb(&e->c));
		break;
	case DW_OP_nop:
		break;
	default:
		e->lost = true;
	}
}

/* rsp + 8 + ((rip & 15) >= N) << 3, as BFD and gold write it for lazy PLT entries: the push of the
 * relocation index ends at byte 11, or at 10 where the entry begins with a bnd or an endbr64. */
static bool match_plt(struct bytes expr, int32_t *threshold)
{
	static const uint8_t shape[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
		0 /* the threshold */, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	int32_t found = 0;

	if (expr.len != sizeof(shape))
		return false;
	for (size_t i = 0; i < sizeof(shape); i++) {
		if (shape[i] == 0 && i > 3)
			found = expr.data[i] - DW_OP_lit0;
		else if (expr.data[i] != shape[i])
			return false;
	}
	if (found < 0 || found > 15)
		return false;
	*threshold = found;
	return true;
}

static bool fits32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

static struct cfi_value value_of(uint8_t reg, int64_t off)
{
	struct cfi_value value = { .kind = CFI_VALUE_FAR };

	if (!fits32(off))
		return value;
	value.kind = CFI_VALUE_ADDR;
	value.reg = reg;
	value.off = (int32_t)off;
	return value;
}

struct cfi_value cfi_value_addr(uint64_t reg, int64_t off)
{
	if (reg > CFI_REG_MAX && reg != CFI_REG_CFA)
		return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
	return value_of((uint8_t)reg, off);
}

static struct cfi_value narrow(const struct term *term)
{
	struct cfi_value value;

	if (term->kind == TERM_CONST || term->kind == TERM_INDEX)
		return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
	value = value_of(term->reg, term->off);
	if (term->kind == TERM_ADDR || value.kind != CFI_VALUE_ADDR)
		return value;
	if (!fits32(term->add))
		return (struct cfi_value){ .kind = CFI_VALUE_FAR };
	value.kind = CFI_VALUE_DEREF;
	value.add = (int32_t)term->add;
	return value;
}

struct cfi_value cfi_expr_eval(struct bytes expr, bool cfa_pushed)
{
	struct eval e = { .c = cursor_init(expr.data, expr.len) };
	struct cfi_value plt = { .kind = CFI_VALUE_PLT };

	if (!cfa_pushed && match_plt(expr, &plt.off))
		return plt;
	if (cfa_pushed)
		push(&e, (struct term){ .kind = TERM_ADDR, .reg = CFI_REG_CFA });
	while (!e.lost && cursor_left(&e.c) > 0)
		step(&e);
	if (e.lost || e.c.bad || e.depth == 0)
		return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
	return narrow(&e.stack[e.depth - 1]);
}
