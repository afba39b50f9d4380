/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_unit.h - one unit of .debug_info: its header, its own DIE, and the meaning of its
 * values. DWARF 5 §7.5.1, §3.1, §7.26-§7.28. */
#pragma once

#include "dwarf/dwarf.h"
#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_const.h"
#include "dwarf/dwarf_form.h"

struct dwarf_unit {
	const struct dwarf *dwarf;
	struct bytes sections[DWARF_SECTIONS]; /* as visible to this unit */
	struct dwarf_format format;
	uint8_t type;        /* DW_UT_* */
	uint64_t start, end; /* in .debug_info, with its header */
	uint64_t dies;       /* offset of its first DIE */
	uint64_t abbrevs;    /* offset of its table */
	uint64_t dwo_id;     /* 0: not split */
	struct dwarf_value low_pc, high_pc, ranges, line, dir, language,
		dwo_name; /* from its own DIE */
	uint64_t base;    /* base of relative ranges */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
};

/* Reads only the header at an offset of .debug_info. -ENOENT: the end; -EBADMSG: it does not fit
 * into the section, and no later unit can be found. An unsupported unit (its version, or addresses
 * of other than 4 or 8 bytes) gets version 0. */
int dwarf_unit_header(const struct dwarf *dwarf, uint64_t offset, struct dwarf_unit *out);
/* Also reads its own DIE. abbrevs NULL: parses only the needed part of its table. */
int dwarf_unit_read(
	struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs, struct dwarf_work *work);
/* Lets a split unit use the addresses, and before DWARF 5 the ranges, of its skeleton. */
void dwarf_unit_join(struct dwarf_unit *split, const struct dwarf_unit *skeleton);

/* The abbreviation of the DIE at the cursor. NULL with *end: the end of siblings; NULL without:
 * damage. */
const struct dwarf_abbrev *dwarf_unit_die(
	const struct dwarf_abbrevs *abbrevs, struct cursor *c, bool *end);
/* Reads all attributes at the cursor and advances it; stores those with the given names in out. */
void dwarf_unit_pick(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev,
	struct cursor *c, const uint16_t *names, size_t names_len, struct dwarf_value *out);
void dwarf_unit_skip(
	const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev, struct cursor *c);
/* A cursor over .debug_info up to the unit's end, at the offset. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset);

/* Empty: not a string, or an offset outside its section. */
struct bytes dwarf_unit_text(const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_unit_address(
	const struct dwarf_unit *unit, const struct dwarf_value *value, uint64_t *out);
/* The target of a reference: the file's .debug_info, and the offset in it. */
bool dwarf_unit_ref(const struct dwarf_unit *unit, const struct dwarf_value *value,
	const struct dwarf **dwarf, uint64_t *offset);
