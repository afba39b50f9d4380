/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_program.c - the interpreter for call frame instructions.
 * It emits a row when the location advances and a rule that the unwinder needs has changed; other
 * registers are parsed and ignored. Every instruction takes at least one byte and constant time
 * (expressions: their own length), so the work is linear in the program. A malformed instruction
 * fails the function: rows from a half-read program would be guesses. eh_frame.c reads the
 * records. */
#include "elf/cfi_program.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Not in every dwarf.h. The first is DW_CFA_GNU_window_save on another machine. */
#define CFA_AARCH64_NEGATE_RA_STATE 0x2d
#define CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c

#define PRIMARY_MASK 0xc0
#define OPERAND_MASK 0x3f

struct run {
	struct cfi_machine *m;
	const struct cfi_cie *cie;
	const struct cfi_state *initial; /* what DW_CFA_restore goes back to */
	const struct cfi_bases *bases;
	struct cursor c;
	struct cfi_state now;
	unsigned int depth;
	bool changed; /* since the last row */
	bool in_cie;
	uint64_t start;
	uint64_t delta;
	uint32_t size;
};

void cfi_machine_done(struct cfi_machine *m)
{
	vec_done(&m->rows);
}

static int put_row(struct run *r)
{
	struct cfi_machine *m = r->m;
	struct unwind_rule rule;
	struct cfi_row *row;

	if (!r->changed || r->delta >= r->size)
		return 0;
	r->changed = false;
	cfi_rule_encode(&r->now, m->arch, r->cie->ra, r->cie->signal_frame, m->lost, &rule);
	if (m->rows.len > 0 &&
		memcmp(&m->rows.data[m->rows.len - 1].rule, &rule, sizeof(rule)) == 0)
		return 0;
	row = vec_add(&m->rows);
	if (!row)
		return -ENOMEM;
	row->delta = (uint32_t)r->delta;
	row->rule = rule;
	return 0;
}

/* Beyond the function's end it is known that no row follows, not that the program is malformed. */
static int advance(struct run *r, uint64_t units)
{
	uint64_t by;
	int err;

	if (r->in_cie || __builtin_mul_overflow(units, r->cie->code_align, &by))
		return -EBADMSG;
	if (by == 0)
		return 0;
	err = put_row(r);
	if (err < 0)
		return err;
	return __builtin_add_overflow(r->delta, by, &r->delta) ? -EBADMSG : 0;
}

static int set_loc(struct run *r)
{
	uint64_t to, delta;
	int err;

	if (r->in_cie)
		return -EBADMSG;
	to = cfi_pointer_read(&r->c, r->cie->pointer_encoding, r->bases);
	delta = to - r->start;
	if (r->c.bad || to < r->start || delta < r->delta)
		return -EBADMSG;
	if (delta == r->delta)
		return 0;
	err = put_row(r);
	r->delta = delta;
	return err;
}

static enum cfi_tracked tracked(const struct run *r, uint64_t reg)
{
	if (reg == r->cie->ra)
		return CFI_RA;
	if (reg == r->m->arch->fp)
		return CFI_FP;
	if (reg == r->m->arch->sp)
		return CFI_SP;
	return CFI_TRACKED_LEN;
}

static int set_rule(struct run *r, uint64_t reg, enum cfi_rule_kind kind, struct cfi_value value)
{
	enum cfi_tracked i = tracked(r, reg);

	if (i != CFI_TRACKED_LEN) {
		r->now.rules[i] = (struct cfi_rule){ .kind = (uint8_t)kind, .value = value };
		r->changed = true;
	}
	return 0;
}

static int set_plain(struct run *r, enum cfi_rule_kind kind)
{
	return set_rule(r, cursor_uleb(&r->c), kind, (struct cfi_value){ 0 });
}

static int set_register(struct run *r)
{
	uint64_t reg = cursor_uleb(&r->c);
	uint64_t other = cursor_uleb(&r->c);

	/* A register of that number would be taken for the CFA. */
	if (other == CFI_REG_CFA)
		other++;
	return set_rule(r, reg, CFI_RULE_IS, cfi_value_addr(other, 0));
}

static int scale(const struct run *r, int64_t factored, int64_t *off)
{
	return __builtin_mul_overflow(factored, r->cie->data_align, off) ? -EBADMSG : 0;
}

static int set_from_cfa(struct run *r, uint64_t reg, enum cfi_rule_kind kind, int64_t factored)
{
	int64_t off;

	if (tracked(r, reg) == CFI_TRACKED_LEN)
		return 0;
	if (scale(r, factored, &off) < 0)
		return -EBADMSG;
	return set_rule(r, reg, kind, cfi_value_addr(CFI_REG_CFA, off));
}

static int set_from_cfa_uleb(struct run *r, enum cfi_rule_kind kind)
{
	uint64_t reg = cursor_uleb(&r->c);
	uint64_t factored = cursor_uleb(&r->c);

	return factored > INT64_MAX ? -EBADMSG : set_from_cfa(r, reg, kind, (int64_t)factored);
}

static int set_from_cfa_sleb(struct run *r, enum cfi_rule_kind kind)
{
	uint64_t reg = cursor_uleb(&r->c);

	return set_from_cfa(r, reg, kind, cursor_sleb(&r->c));
}

static int set_negative(struct run *r)
{
	uint64_t reg = cursor_uleb(&r->c);
	uint64_t factored = cursor_uleb(&r->c);

	return factored > INT64_MAX ? -EBADMSG
				    : set_from_cfa(r, reg, CFI_RULE_AT, -(int64_t)factored);
}

static int set_expr(struct run *r, enum cfi_rule_kind kind)
{
	uint64_t reg = cursor_uleb(&r->c);
	struct bytes expr = cursor_bytes(&r->c, cursor_uleb(&r->c));

	if (tracked(r, reg) == CFI_TRACKED_LEN)
		return 0;
	return set_rule(r, reg, kind, cfi_expr_eval(expr, true));
}

static int restore(struct run *r, uint64_t reg)
{
	enum cfi_tracked i = tracked(r, reg);

	if (i != CFI_TRACKED_LEN) {
		r->now.rules[i] = r->initial->rules[i];
		r->changed = true;
	}
	return 0;
}

static int remember(struct run *r)
{
	if (r->depth == CFI_STATES_MAX)
		return -EBADMSG;
	r->m->saved[r->depth++] = r->now;
	return 0;
}

static int restore_state(struct run *r)
{
	if (r->depth == 0)
		return -EBADMSG;
	r->now = r->m->saved[--r->depth];
	r->changed = true;
	return 0;
}

static int set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	/* As for set_register(). */
	r->now.cfa_reg = reg == CFI_REG_CFA ? reg + 1 : reg;
	r->now.cfa_off = off;
	r->now.cfa_set = true;
	r->now.cfa_is_expr = false;
	r->changed = true;
	return 0;
}

static int set_cfa_off(struct run *r, int64_t off)
{
	if (!r->now.cfa_set)
		return -EBADMSG;
	r->now.cfa_off = off;
	r->changed = true;
	return 0;
}

static int set_cfa_expr(struct run *r)
{
	struct bytes expr = cursor_bytes(&r->c, cursor_uleb(&r->c));

	r->now.cfa_expr = cfi_expr_eval(expr, false);
	r->now.cfa_set = true;
	r->now.cfa_is_expr = true;
	r->changed = true;
	return 0;
}

static int step_cfa(struct run *r, uint8_t op)
{
	uint64_t reg = 0;
	int64_t off = 0;

	if (op != DW_CFA_def_cfa_offset && op != DW_CFA_def_cfa_offset_sf)
		reg = cursor_uleb(&r->c);
	if (op == DW_CFA_def_cfa_sf || op == DW_CFA_def_cfa_offset_sf) {
		if (scale(r, cursor_sleb(&r->c), &off) < 0)
			return -EBADMSG;
	} else if (op != DW_CFA_def_cfa_register) {
		/* Addresses wrap: above 2^63 it is a step down. */
		off = (int64_t)cursor_uleb(&r->c);
	}
	switch (op) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		return set_cfa(r, reg, off);
	case DW_CFA_def_cfa_register:
		return r->now.cfa_set ? set_cfa(r, reg, r->now.cfa_off) : -EBADMSG;
	default:
		return set_cfa_off(r, off);
	}
}

static int step_machine(struct run *r, uint8_t op)
{
	switch (op) {
	case DW_CFA_GNU_args_size:
		cursor_uleb(&r->c);
		return 0;
	/* Whether the return address is signed: the unwinder strips signatures always. */
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return r->m->arch->link_register ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int step_extended(struct run *r, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_loc(r);
	case DW_CFA_advance_loc1:
		return advance(r, cursor_u8(&r->c));
	case DW_CFA_advance_loc2:
		return advance(r, cursor_u16(&r->c));
	case DW_CFA_advance_loc4:
		return advance(r, cursor_u32(&r->c));
	case DW_CFA_MIPS_advance_loc8:
		return advance(r, cursor_u64(&r->c));
	case DW_CFA_offset_extended:
		return set_from_cfa_uleb(r, CFI_RULE_AT);
	case DW_CFA_offset_extended_sf:
		return set_from_cfa_sleb(r, CFI_RULE_AT);
	case DW_CFA_GNU_negative_offset_extended:
		return set_negative(r);
	case DW_CFA_val_offset:
		return set_from_cfa_uleb(r, CFI_RULE_IS);
	case DW_CFA_val_offset_sf:
		return set_from_cfa_sleb(r, CFI_RULE_IS);
	case DW_CFA_restore_extended:
		return restore(r, cursor_uleb(&r->c));
	case DW_CFA_undefined:
		return set_plain(r, CFI_RULE_UNDEFINED);
	case DW_CFA_same_value:
		return set_plain(r, CFI_RULE_SAME);
	case DW_CFA_register:
		return set_register(r);
	case DW_CFA_expression:
		return set_expr(r, CFI_RULE_AT);
	case DW_CFA_val_expression:
		return set_expr(r, CFI_RULE_IS);
	case DW_CFA_remember_state:
		return remember(r);
	case DW_CFA_restore_state:
		return restore_state(r);
	case DW_CFA_def_cfa_expression:
		return set_cfa_expr(r);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		return step_cfa(r, op);
	default:
		return step_machine(r, op);
	}
}

static int step(struct run *r)
{
	uint8_t op = cursor_u8(&r->c);
	uint8_t operand = op & OPERAND_MASK;
	uint64_t factored;

	switch (op & PRIMARY_MASK) {
	case DW_CFA_advance_loc:
		return advance(r, operand);
	case DW_CFA_offset:
		factored = cursor_uleb(&r->c);
		return factored > INT64_MAX
			? -EBADMSG
			: set_from_cfa(r, operand, CFI_RULE_AT, (int64_t)factored);
	case DW_CFA_restore:
		return restore(r, operand);
	default:
		return step_extended(r, op);
	}
}

static int run_all(struct run *r)
{
	while (cursor_left(&r->c) > 0) {
		int err = step(r);

		if (err < 0)
			return err;
	}
	return r->c.bad ? -EBADMSG : 0;
}

int cfi_machine_run_cie(struct cfi_machine *m, struct cfi_cie *cie, struct cursor program)
{
	const struct cfi_state empty = { 0 };
	const struct cfi_bases bases = { 0 };
	struct run r = {
		.m = m, .cie = cie, .initial = &empty, .bases = &bases, .c = program, .in_cie = true
	};
	int err;

	err = run_all(&r);
	if (err < 0)
		return err;
	cie->initial = r.now;
	return 0;
}

int cfi_machine_run_fde(struct cfi_machine *m, const struct cfi_cie *cie, struct cursor program,
	const struct cfi_bases *bases, uint64_t start, uint32_t size)
{
	struct run r = { .m = m,
		.cie = cie,
		.initial = &cie->initial,
		.bases = bases,
		.c = program,
		.now = cie->initial,
		.changed = true,
		.start = start,
		.size = size };
	int err;

	m->rows.len = 0;
	err = run_all(&r);
	if (err < 0)
		return err;
	return put_row(&r);
}
