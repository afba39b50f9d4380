/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_unit.c - a unit's own DIE defines how to interpret the values in all its DIEs, and
 * may do so after values that need it. So values are stored as encoded and interpreted on demand.
 * An offset outside its section gives nothing. */
#include "dwarf/dwarf_unit.h"

#include <errno.h>

#include "base/own.h"

#define DWARF64 0xffffffffU

enum unit_attribute {
	LOW_PC,
	HIGH_PC,
	RANGES,
	LINE,
	DIR,
	LANGUAGE,
	STR_OFFSETS_BASE,
	ADDR_BASE,
	RNGLISTS_BASE,
	GNU_ADDR_BASE,
	GNU_RANGES_BASE,
	GNU_DWO_ID,
	DWO_NAME,
	GNU_DWO_NAME,
	UNIT_ATTRIBUTES,
};

static const uint16_t unit_attributes[UNIT_ATTRIBUTES] = {
	[LOW_PC] = DW_AT_low_pc,
	[HIGH_PC] = DW_AT_high_pc,
	[RANGES] = DW_AT_ranges,
	[LINE] = DW_AT_stmt_list,
	[DIR] = DW_AT_comp_dir,
	[LANGUAGE] = DW_AT_language,
	[STR_OFFSETS_BASE] = DW_AT_str_offsets_base,
	[ADDR_BASE] = DW_AT_addr_base,
	[RNGLISTS_BASE] = DW_AT_rnglists_base,
	[GNU_ADDR_BASE] = DW_AT_GNU_addr_base,
	[GNU_RANGES_BASE] = DW_AT_GNU_ranges_base,
	[GNU_DWO_ID] = DW_AT_GNU_dwo_id,
	[DWO_NAME] = DW_AT_dwo_name,
	[GNU_DWO_NAME] = DW_AT_GNU_dwo_name,
};

/* ---- header --------------------------------------------------------------------------------- */

static void read_header(struct cursor *c, struct dwarf_unit *u)
{
	u->type = DW_UT_compile;
	if (u->format.version >= 5) {
		u->type = cursor_u8(c);
		u->format.address_size = cursor_u8(c);
	}
	u->abbrevs = dwarf_number(c, u->format.offset_size);
	if (u->format.version < 5)
		u->format.address_size = cursor_u8(c);
	else if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
		u->dwo_id = cursor_u64(c);
	else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
		cursor_skip(c, sizeof(uint64_t) + u->format.offset_size);
}

int dwarf_unit_header(const struct dwarf *dwarf, uint64_t offset, struct dwarf_unit *out)
{
	struct dwarf_unit u = { .dwarf = dwarf, .start = offset, .format.offset_size = 4 };
	struct bytes info = dwarf->sections[DWARF_INFO];
	struct cursor c = cursor_init(info.data, info.len), body;
	uint64_t len;
	uint16_t version;

	if (offset >= info.len)
		return -ENOENT;
	cursor_seek(&c, offset);
	len = cursor_u32(&c);
	if (len == DWARF64) {
		u.format.offset_size = 8;
		len = cursor_u64(&c);
	}
	u.dies = cursor_offset(&c);
	body = cursor_sub(&c, len);
	if (body.bad || len == 0)
		return -EBADMSG;
	u.end = u.dies + len;
	version = cursor_u16(&body);
	u.format.version = version >= 2 && version <= 5 ? (uint8_t)version : 0;
	if (u.format.version)
		read_header(&body, &u);
	u.dies += cursor_offset(&body);
	if (body.bad || (u.format.address_size != 8 && u.format.address_size != 4))
		u.format.version = 0;
	for (int i = 0; i < DWARF_SECTIONS; i++)
		u.sections[i] = dwarf->sections[i];
	*out = u;
	return 0;
}

/* ---- its own DIE ---------------------------------------------------------------------------- */

static uint64_t base_of(const struct dwarf_value *value, uint64_t otherwise)
{
	return value->class == DWARF_OFFSET || value->class == DWARF_NUMBER ? value->u : otherwise;
}

static void set_bases(struct dwarf_unit *u, const struct dwarf_value *v)
{
	/* Tables of a split file have one header each, and no attribute leads past it. */
	bool headed = u->dwarf->split && u->format.version >= 5;
	unsigned int wide = u->format.offset_size == 8 ? 8 : 0;

	u->str_offsets_base = base_of(&v[STR_OFFSETS_BASE], headed ? 8 + wide : 0);
	u->rnglists_base = base_of(&v[RNGLISTS_BASE], headed ? 12 + wide : 0);
	u->addr_base = base_of(&v[ADDR_BASE], base_of(&v[GNU_ADDR_BASE], 0));
	u->ranges_base = base_of(&v[GNU_RANGES_BASE], 0);
	if (v[GNU_DWO_ID].class == DWARF_NUMBER)
		u->dwo_id = v[GNU_DWO_ID].u;
}

static int read_own(
	struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs, struct dwarf_value *v)
{
	struct cursor c = dwarf_unit_cursor(unit, unit->dies);
	const struct dwarf_abbrev *abbrev;
	bool end;

	abbrev = dwarf_unit_die(abbrevs, &c, &end);
	if (!abbrev)
		return -EBADMSG;
	dwarf_unit_pick(abbrevs, abbrev, &c, unit_attributes, UNIT_ATTRIBUTES, v);
	return c.bad ? -EBADMSG : 0;
}

int dwarf_unit_read(
	struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs, struct dwarf_work *work)
{
	struct cursor c = dwarf_unit_cursor(unit, unit->dies);
	_cleanup_(dwarf_abbrevs_done) struct dwarf_abbrevs part = { 0 };
	struct dwarf_value v[UNIT_ATTRIBUTES] = { 0 };
	int err = 0;

	if (unit->format.version == 0)
		return -EBADMSG;
	if (!dwarf_work_spend(work, 256))
		return -ETIME;
	if (!abbrevs)
		err = dwarf_abbrevs_parse(unit->sections[DWARF_ABBREV], unit->abbrevs,
			&unit->format, cursor_uleb(&c), work, &part);
	if (err == 0)
		err = read_own(unit, abbrevs ? abbrevs : &part, v);
	if (err < 0)
		return err;
	set_bases(unit, v);
	unit->low_pc = v[LOW_PC];
	unit->high_pc = v[HIGH_PC];
	unit->ranges = v[RANGES];
	unit->line = v[LINE];
	unit->dir = v[DIR];
	unit->language = v[LANGUAGE];
	unit->dwo_name = v[v[DWO_NAME].class == DWARF_NONE ? GNU_DWO_NAME : DWO_NAME];
	dwarf_unit_address(unit, &unit->low_pc, &unit->base);
	return 0;
}

void dwarf_unit_join(struct dwarf_unit *split, const struct dwarf_unit *skeleton)
{
	split->sections[DWARF_ADDR] = skeleton->sections[DWARF_ADDR];
	split->addr_base = skeleton->addr_base;
	split->base = skeleton->base;
	if (split->format.version >= 5)
		return;
	split->sections[DWARF_RANGES] = skeleton->sections[DWARF_RANGES];
	split->ranges_base = skeleton->ranges_base;
}

/* ---- DIEs ----------------------------------------------------------------------------------- */

const struct dwarf_abbrev *dwarf_unit_die(
	const struct dwarf_abbrevs *abbrevs, struct cursor *c, bool *end)
{
	uint64_t code = cursor_uleb(c);

	*end = !c->bad && code == 0;
	return c->bad || code == 0 ? NULL : dwarf_abbrevs_find(abbrevs, code);
}

void dwarf_unit_pick(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev,
	struct cursor *c, const uint16_t *names, size_t names_len, struct dwarf_value *out)
{
	for (size_t i = 0; i < names_len; i++)
		out[i] = (struct dwarf_value){ 0 };
	for (size_t i = 0; i < abbrev->specs_len && !c->bad; i++) {
		const struct dwarf_spec *spec = &abbrevs->specs.data[abbrev->specs + i];
		struct dwarf_value value;

		dwarf_form_read(c, &abbrevs->format, spec, &value);
		for (size_t n = 0; n < names_len; n++)
			if (names[n] == spec->name && out[n].class == DWARF_NONE)
				out[n] = value;
	}
}

void dwarf_unit_skip(
	const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev, struct cursor *c)
{
	struct dwarf_value value;

	if (abbrev->bytes != DWARF_ABBREV_VARIES) {
		cursor_skip(c, abbrev->bytes);
		return;
	}
	for (size_t i = 0; i < abbrev->specs_len && !c->bad; i++)
		dwarf_form_read(
			c, &abbrevs->format, &abbrevs->specs.data[abbrev->specs + i], &value);
}

struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	struct cursor c = cursor_init(unit->sections[DWARF_INFO].data, unit->end);

	cursor_seek(&c, offset);
	return c;
}

/* ---- values --------------------------------------------------------------------------------- */

/* The index-th number of a table that begins at base. */
static bool look_up(
	struct bytes section, uint64_t base, uint64_t index, unsigned int size, uint64_t *out)
{
	struct cursor c = cursor_init(section.data, section.len);
	uint64_t value;

	if (index > section.len || base > section.len)
		return false;
	cursor_seek(&c, base + index * size);
	value = dwarf_number(&c, size);
	if (!c.bad)
		*out = value;
	return !c.bad;
}

struct bytes dwarf_unit_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	uint64_t offset;

	switch (value->class) {
	case DWARF_TEXT:
		return value->text;
	case DWARF_TEXT_OFFSET:
		return dwarf_string_at(unit->sections[DWARF_STR], value->u);
	case DWARF_TEXT_LINE:
		return dwarf_string_at(unit->sections[DWARF_LINE_STR], value->u);
	case DWARF_TEXT_INDEX:
		if (look_up(unit->sections[DWARF_STR_OFFSETS], unit->str_offsets_base, value->u,
			    unit->format.offset_size, &offset))
			return dwarf_string_at(unit->sections[DWARF_STR], offset);
		break;
	case DWARF_TEXT_ALT:
		if (unit->dwarf->alt)
			return dwarf_string_at(unit->dwarf->alt->sections[DWARF_STR], value->u);
		break;
	}
	return (struct bytes){ 0 };
}

bool dwarf_unit_address(
	const struct dwarf_unit *unit, const struct dwarf_value *value, uint64_t *out)
{
	if (value->class == DWARF_ADDRESS) {
		*out = value->u;
		return true;
	}
	return value->class == DWARF_ADDRESS_INDEX &&
		look_up(unit->sections[DWARF_ADDR], unit->addr_base, value->u,
			unit->format.address_size, out);
}

bool dwarf_unit_ref(const struct dwarf_unit *unit, const struct dwarf_value *value,
	const struct dwarf **dwarf, uint64_t *offset)
{
	const struct dwarf *to = value->class == DWARF_REF_ALT ? unit->dwarf->alt : unit->dwarf;
	uint64_t at = value->u;

	if (value->class != DWARF_REF && value->class != DWARF_REF_INFO &&
		value->class != DWARF_REF_ALT)
		return false;
	if (value->class == DWARF_REF)
		at = at < unit->end - unit->start ? at + unit->start : UINT64_MAX;
	if (!to || at >= to->sections[DWARF_INFO].len)
		return false;
	*dwarf = to;
	*offset = at;
	return true;
}
