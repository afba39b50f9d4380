/* SPDX-License-Identifier: Apache-2.0 */
/* elf/cfi_rule.c - converts a row in DWARF's terms into a struct unwind_rule.
 * Invariant: a rule is encoded exactly or marked as unsupported, because a wrong return address is
 * worse than a stack that ends with a reason. Fields that a kind does not use are 0, so equal rules
 * are equal bytes. */
#include "elf/cfi_rule.h"

#include <elf.h>
#include <stddef.h>

#include "base/own.h"

/* Offset of the saved rsp in the frame that the kernel builds for an x86-64 signal handler, seen
 * from where __restore_rt runs: the return address is popped, rsp points at struct ucontext,
 * uc_mcontext is at 40 in it and rsp is its 16th register. */
#define X86_64_SIGFRAME_RSP (40 + 15 * 8)

#define LOST_NONE CFI_LOST_MAX

static const struct cfi_arch arches[] = {
	{ .machine = EM_X86_64, .sp = 7, .fp = 6, .sigframe_sp = X86_64_SIGFRAME_RSP },
	{ .machine = EM_AARCH64, .sp = 31, .fp = 29, .link_register = true },
};

const struct cfi_arch *cfi_arch_find(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(arches); i++) {
		if (arches[i].machine == machine)
			return &arches[i];
	}
	return NULL;
}

static bool fits16(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static struct cfi_value cfa_value(const struct cfi_state *s)
{
	return s->cfa_is_expr ? s->cfa_expr : cfi_value_addr(s->cfa_reg, s->cfa_off);
}

/* The CFA of an unwind rule is the caller's stack pointer. In DWARF that is understood
 * unless a rule for the stack pointer says otherwise, as in code that changes stacks; then DWARF's
 * CFA is a mere base that other rules count from. */
struct frame {
	struct cfi_value base; /* DWARF's CFA */
	struct cfi_value own;  /* where the stack pointer has a rule */
	const struct cfi_value *cfa; /* the caller's stack pointer: one of the two */
};

/* base + off, where the base is of a shape that allows it. */
static struct cfi_value from_base(const struct cfi_value *base, int64_t off)
{
	struct cfi_value v = *base;

	if (base->kind == CFI_VALUE_ADDR)
		return cfi_value_addr(base->reg, base->off + off);
	if (off == 0)
		return v;
	off += base->add;
	if (base->kind != CFI_VALUE_DEREF)
		v.kind = CFI_VALUE_UNKNOWN;
	else if (off < INT32_MIN || off > INT32_MAX)
		v.kind = CFI_VALUE_FAR;
	else
		v.add = (int32_t)off;
	return v;
}

/* A value that may be relative to the CFA, as one that does not depend on it. */
static struct cfi_value resolve(const struct cfi_value *v, const struct cfi_value *base)
{
	if (v->reg != CFI_REG_CFA)
		return *v;
	if (v->kind == CFI_VALUE_ADDR)
		return from_base(base, v->off);
	return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
}

/* False: a rule for the stack pointer that cannot be followed. *out stays where it is. */
static bool find_frame(const struct cfi_state *s, struct frame *out)
{
	const struct cfi_rule *sp = &s->rules[CFI_SP];
	struct cfi_value *own = &out->own;

	out->base = cfa_value(s);
	out->cfa = &out->base;
	if (sp->kind == CFI_RULE_DEFAULT)
		return true;
	if (sp->kind != CFI_RULE_IS && sp->kind != CFI_RULE_AT)
		return false;
	*own = resolve(&sp->value, &out->base);
	out->cfa = own;
	if (sp->kind == CFI_RULE_IS)
		return own->kind == CFI_VALUE_ADDR || own->kind == CFI_VALUE_DEREF;
	if (own->kind != CFI_VALUE_ADDR)
		return false;
	own->kind = CFI_VALUE_DEREF;
	own->add = 0;
	return true;
}

static bool is_indexed(const struct cfi_value *v)
{
	return v->reg > CFI_REG_MAX && v->reg != CFI_REG_CFA;
}

static enum cfi_lost encode_cfa(
	const struct cfi_value *cfa, const struct cfi_arch *arch, struct unwind_rule *out)
{
	if (is_indexed(cfa) && arch->machine != EM_X86_64)
		return CFI_LOST_CFA_EXPRESSION;
	switch (cfa->kind) {
	case CFI_VALUE_ADDR:
		out->cfa = CFA_REG;
		break;
	case CFI_VALUE_DEREF:
		out->cfa = CFA_DEREF;
		out->cfa_add = cfa->add;
		break;
	case CFI_VALUE_PLT:
		out->cfa = CFA_PLT;
		break;
	case CFI_VALUE_FAR:
		return CFI_LOST_CFA_FAR;
	default:
		return CFI_LOST_CFA_EXPRESSION;
	}
	out->cfa_reg = cfa->reg;
	out->cfa_off = cfa->off;
	return LOST_NONE;
}

/* An address in memory as a distance from the CFA: both must count from the same place. */
static bool from_cfa(const struct cfi_value *v, const struct frame *f, int64_t *off)
{
	const struct cfi_value *base = &f->base, *cfa = f->cfa;

	if (v->kind != CFI_VALUE_ADDR)
		return false;
	if (v->reg != CFI_REG_CFA) {
		*off = (int64_t)v->off - cfa->off;
		return cfa->kind == CFI_VALUE_ADDR && cfa->reg == v->reg;
	}
	if (base->kind != cfa->kind || base->reg != cfa->reg)
		return false;
	*off = v->off;
	if (cfa->kind == CFI_VALUE_ADDR)
		*off += (int64_t)base->off - cfa->off;
	else if (cfa->kind == CFI_VALUE_DEREF && base->off == cfa->off)
		*off += (int64_t)base->add - cfa->add;
	else
		return cfa->kind == CFI_VALUE_PLT;
	return true;
}

static enum cfi_lost encode_ra(const struct cfi_rule *ra, const struct cfi_arch *arch,
	uint64_t column, const struct frame *f, struct unwind_rule *out)
{
	const struct cfi_value *v = &ra->value;
	int64_t off;

	out->ra = RA_UNSUPPORTED;
	switch (ra->kind) {
	case CFI_RULE_UNDEFINED:
		out->ra = RA_UNDEFINED;
		return LOST_NONE;
	case CFI_RULE_DEFAULT:
	case CFI_RULE_SAME:
		if (!arch->link_register || column > CFI_REG_MAX)
			return CFI_LOST_RA_RULE;
		out->ra = RA_REG;
		out->ra_off = (int16_t)column;
		return LOST_NONE;
	case CFI_RULE_IS:
		if (v->kind != CFI_VALUE_ADDR || v->reg > CFI_REG_MAX || v->off != 0)
			return CFI_LOST_RA_RULE;
		out->ra = RA_REG;
		out->ra_off = v->reg;
		return LOST_NONE;
	default:
		break;
	}
	if (v->kind == CFI_VALUE_FAR)
		return CFI_LOST_RA_FAR;
	if (!from_cfa(v, f, &off))
		return CFI_LOST_RA_RULE;
	if (!fits16(off))
		return CFI_LOST_RA_FAR;
	out->ra = RA_AT_CFA;
	out->ra_off = (int16_t)off;
	return LOST_NONE;
}

static enum cfi_lost encode_fp_at(const struct cfi_value *v, const struct cfi_arch *arch,
	const struct frame *f, struct unwind_rule *out)
{
	enum fp_kind kind = FP_AT_CFA;
	int64_t off;

	if (v->kind == CFI_VALUE_FAR)
		return CFI_LOST_FP_FAR;
	if (!from_cfa(v, f, &off)) {
		if (v->kind != CFI_VALUE_ADDR || (v->reg != arch->fp && v->reg != arch->sp))
			return CFI_LOST_FP_RULE;
		kind = v->reg == arch->fp ? FP_AT_FP : FP_AT_SP;
		off = v->off;
	}
	if (!fits16(off))
		return CFI_LOST_FP_FAR;
	out->fp = (uint8_t)kind;
	out->fp_off = (int16_t)off;
	return LOST_NONE;
}

static enum cfi_lost encode_fp(const struct cfi_rule *fp, const struct cfi_arch *arch,
	const struct frame *f, struct unwind_rule *out)
{
	const struct cfi_value *v = &fp->value;

	out->fp = FP_LOST;
	switch (fp->kind) {
	case CFI_RULE_DEFAULT:
	case CFI_RULE_SAME:
		out->fp = FP_SAME;
		return LOST_NONE;
	case CFI_RULE_IS:
		if (v->kind != CFI_VALUE_ADDR || v->reg > CFI_REG_MAX || v->off != 0)
			return CFI_LOST_FP_RULE;
		out->fp = v->reg == arch->fp ? FP_SAME : FP_REG;
		out->fp_off = (int16_t)(v->reg == arch->fp ? 0 : v->reg);
		return LOST_NONE;
	case CFI_RULE_AT:
		return encode_fp_at(v, arch, f, out);
	default:
		return CFI_LOST_FP_RULE;
	}
}

static bool is_sigframe(const struct cfi_value *cfa, const struct cfi_arch *arch)
{
	if (arch->sigframe_sp == 0)
		return true;
	return cfa->kind == CFI_VALUE_DEREF && cfa->reg == arch->sp &&
		cfa->off == arch->sigframe_sp && cfa->add == 0;
}

static void count(uint32_t lost[CFI_LOST_MAX], enum cfi_lost reason)
{
	if (reason != LOST_NONE)
		lost[reason]++;
}

void cfi_rule_encode(const struct cfi_state *state, const struct cfi_arch *arch, uint64_t ra,
	bool signal_frame, uint32_t lost[CFI_LOST_MAX], struct unwind_rule *out)
{
	enum cfi_lost reason = CFI_LOST_CFA_MISSING;
	struct unwind_rule rule = { 0 };
	struct frame frame = { 0 };

	if (state->cfa_set)
		reason = find_frame(state, &frame) ? LOST_NONE : CFI_LOST_SP_RULE;
	if (reason == LOST_NONE && signal_frame && is_sigframe(frame.cfa, arch)) {
		*out = (struct unwind_rule){ .cfa = CFA_SIGNAL };
		return;
	}
	if (reason == LOST_NONE)
		reason = encode_cfa(frame.cfa, arch, &rule);
	if (reason != LOST_NONE) {
		/* The outermost frame needs no CFA: that much is still worth saying. */
		bool root = state->rules[CFI_RA].kind == CFI_RULE_UNDEFINED;

		count(lost, reason);
		*out = (struct unwind_rule){ .cfa = CFA_UNSUPPORTED,
			.ra = root ? RA_UNDEFINED : RA_UNSUPPORTED,
			.fp = FP_LOST };
		return;
	}
	count(lost, encode_ra(&state->rules[CFI_RA], arch, ra, &frame, &rule));
	count(lost, encode_fp(&state->rules[CFI_FP], arch, &frame, &rule));
	*out = rule;
}
