/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/scopes.c - one walk over all DIEs of a unit, without recursion: a stack holds the open
 * functions and the level at which each ends. Blocks, namespaces and types only count as levels.
 * Everything inside a function that the linker dropped is left out. Names are resolved by the
 * owner: most scopes are never queried. */
#include "dwarf/scopes.h"

#include <errno.h>

#include "base/own.h"

#define NESTING_MAX 512 /* functions in functions */
#define SPEND_DIES 256  /* between two payments */

enum scope_attribute { LOW_PC, HIGH_PC, RANGES, CALL_FILE, CALL_LINE, SCOPE_ATTRIBUTES };

static const uint16_t scope_attributes[SCOPE_ATTRIBUTES] = {
	[LOW_PC] = DW_AT_low_pc,
	[HIGH_PC] = DW_AT_high_pc,
	[RANGES] = DW_AT_ranges,
	[CALL_FILE] = DW_AT_call_file,
	[CALL_LINE] = DW_AT_call_line,
};

struct open_scope {
	uint32_t scope; /* SCOPES_NONE: dropped */
	uint32_t level; /* of its children */
};

struct walk {
	const struct dwarf_unit *unit;
	const struct dwarf_abbrevs *abbrevs;
	struct dwarf_work *work;
	struct cursor c;
	uint64_t unpaid; /* attributes may take no bytes, but they take time */
	uint32_t level;
	struct open_scope open[NESTING_MAX];
	size_t open_len;
	struct dwarf_ranges found; /* of the DIE at work */
	VEC(struct cover_range) ranges;
	struct scopes *out;
};

/* ---- one DIE -------------------------------------------------------------------------------- */

static int add_ranges(struct walk *w, uint32_t scope)
{
	vec_each (&w->found.all, range) {
		struct cover_range *slot = vec_add(&w->ranges);

		if (!slot)
			return -ENOMEM;
		*slot = (struct cover_range){ range->start, range->end, (uint32_t)w->open_len,
			scope };
	}
	return 0;
}

static uint32_t small(const struct dwarf_value *value)
{
	return value->class == DWARF_NUMBER && value->u <= UINT32_MAX ? (uint32_t)value->u : 0;
}

static int add_scope(struct walk *w, uint64_t die, bool inlined, const struct dwarf_value *v)
{
	struct scope *scope;

	if (w->out->all.len >= SCOPES_MAX) {
		w->out->dropped++;
		return 0;
	}
	scope = vec_add(&w->out->all);
	if (!scope)
		return -ENOMEM;
	*scope = (struct scope){
		.parent = inlined ? w->open[w->open_len - 1].scope : SCOPES_NONE,
		.die = (uint32_t)(die - w->unit->start),
		.call_file = v[CALL_FILE].class == DWARF_NUMBER ? small(&v[CALL_FILE]) : UINT32_MAX,
		.call_line = small(&v[CALL_LINE]),
		.name = SCOPES_UNNAMED,
	};
	return add_ranges(w, (uint32_t)(w->out->all.len - 1));
}

static void enter(struct walk *w, uint32_t scope)
{
	if (w->open_len == NESTING_MAX) {
		w->out->dropped++;
		return;
	}
	w->open[w->open_len++] = (struct open_scope){ scope, w->level + 1 };
}

static bool in_dropped(const struct walk *w)
{
	return w->open_len > 0 && w->open[w->open_len - 1].scope == SCOPES_NONE;
}

static int read_scope(struct walk *w, uint64_t die, const struct dwarf_abbrev *abbrev)
{
	bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	struct dwarf_value v[SCOPE_ATTRIBUTES];
	size_t before = w->out->all.len;
	int err;

	dwarf_unit_pick(w->abbrevs, abbrev, &w->c, scope_attributes, SCOPE_ATTRIBUTES, v);
	if (w->c.bad)
		return -EBADMSG;
	/* A declaration, or the abstract form of what is inlined: functions can be in it. */
	if (!inlined && v[LOW_PC].class == DWARF_NONE && v[RANGES].class == DWARF_NONE)
		return 0;
	w->found.all.len = 0;
	err = dwarf_ranges_read(w->unit, &v[LOW_PC], &v[HIGH_PC], &v[RANGES], w->work, &w->found);
	if (err == -EBADMSG)
		w->found.all.len = 0;
	else if (err < 0)
		return err;
	err = 0;
	if (w->found.all.len > 0 && !(inlined && w->open_len == 0) && !in_dropped(w))
		err = add_scope(w, die, inlined, v);
	if (err == 0 && abbrev->children)
		enter(w, w->out->all.len > before ? (uint32_t)before : SCOPES_NONE);
	return err;
}

bool scopes_may_hold(uint16_t tag)
{
	return tag != DW_TAG_enumeration_type && tag != DW_TAG_array_type &&
		tag != DW_TAG_subroutine_type && tag != DW_TAG_call_site &&
		tag != DW_TAG_GNU_call_site;
}

bool scopes_pass(const struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, uint64_t start, struct cursor *c)
{
	static const uint16_t sibling[] = { DW_AT_sibling };
	struct dwarf_value value;

	if (!abbrev->children || scopes_may_hold(abbrev->tag)) {
		dwarf_unit_skip(abbrevs, abbrev, c);
		return false;
	}
	dwarf_unit_pick(abbrevs, abbrev, c, sibling, 1, &value);
	if (value.class != DWARF_REF || value.u + unit->start <= start ||
		value.u >= unit->end - unit->start || value.u + unit->start <= cursor_offset(c))
		return false;
	cursor_seek(c, unit->start + value.u);
	return true;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void leave(struct walk *w)
{
	w->level--;
	while (w->open_len > 0 && w->open[w->open_len - 1].level > w->level)
		w->open_len--;
}

static int read_die(struct walk *w)
{
	uint64_t start = cursor_offset(&w->c);
	bool end, passed = false;
	const struct dwarf_abbrev *abbrev = dwarf_unit_die(w->abbrevs, &w->c, &end);
	int err = 0;

	if (end) {
		leave(w);
		return 0;
	}
	if (!abbrev)
		return -EBADMSG;
	w->unpaid += abbrev->specs_len;
	if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine)
		err = read_scope(w, start, abbrev);
	else
		passed = scopes_pass(w->unit, w->abbrevs, abbrev, start, &w->c);
	w->level += abbrev->children && !passed;
	return err == 0 && w->c.bad ? -EBADMSG : err;
}

static int walk(struct walk *w)
{
	uint64_t paid = w->unit->dies;
	int err;

	for (size_t i = 1;; i++) {
		err = read_die(w);
		if (err < 0 || w->level == 0 || cursor_left(&w->c) == 0)
			return err;
		if (i % SPEND_DIES != 0)
			continue;
		if (!dwarf_work_spend(w->work, cursor_offset(&w->c) - paid + w->unpaid))
			return -ETIME;
		w->unpaid = 0;
		paid = cursor_offset(&w->c);
	}
}

int scopes_read(const struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
	struct dwarf_work *work, struct scopes *out)
{
	_cleanup_(scopes_done) struct scopes made = { 0 };
	struct walk w = { .unit = unit, .abbrevs = abbrevs, .work = work, .out = &made };
	int err;

	if (unit->end - unit->start > UINT32_MAX)
		return -EFBIG;
	w.c = dwarf_unit_cursor(unit, unit->dies);
	err = walk(&w);
	/* The part before the error is as good as before. */
	if (err == 0 || err == -EBADMSG)
		err = cover_make(w.ranges.data, w.ranges.len, &made.cover);
	vec_done(&w.ranges);
	vec_done(&w.found.all);
	if (err < 0)
		return err;
	*out = made;
	made = (struct scopes){ 0 };
	return 0;
}

void scopes_done(struct scopes *scopes)
{
	vec_done(&scopes->all);
	cover_done(&scopes->cover);
}

size_t scopes_memory(const struct scopes *scopes)
{
	return scopes->all.cap * sizeof(*scopes->all.data) +
		scopes->cover.pieces.cap * sizeof(*scopes->cover.pieces.data);
}
