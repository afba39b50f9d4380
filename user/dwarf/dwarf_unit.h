/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_unit.h - one unit of .debug_info: its header, what its own DIE says, and what the
 * values in it mean. DWARF 5 §7.5.1, §3.1, §7.26-§7.28. */
#pragma once

#include "dwarf/dwarf.h"
#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_const.h"
#include "dwarf/dwarf_form.h"

#define DWARF_SPLIT_SECTIONS_MAX 8 /* columns of a package's index */

struct dwarf_unit {
	const struct dwarf *dwarf;
	struct bytes sections[DWARF_SECTIONS]; /* as this unit sees them */
	struct dwarf_format format;
	uint8_t type;        /* DW_UT_* */
	uint64_t start, end; /* in .debug_info, with its header */
	uint64_t dies;       /* where its first DIE is */
	uint64_t abbrevs;    /* where its table is */
	uint64_t dwo_id;     /* 0: it is not split */
	struct dwarf_value low_pc, high_pc, ranges, line, dir, language,
		dwo_name; /* of its own DIE */
	uint64_t base;    /* address that ranges are relative to */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
};

/* Reads the header at an offset of .debug_info and no more. -ENOENT: there is none; -EBADMSG: it
 * does not fit in the section, and there is no going on behind it. Of a kind that is not read
 * (a version, an address of other than 4 or 8 bytes) is one with version 0. */
int dwarf_unit_header(const struct dwarf *dwarf, uint64_t offset, struct dwarf_unit *out);
/* Reads its own DIE too. abbrevs NULL: as much of its table as it takes. */
int dwarf_unit_read(
	struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs, struct dwarf_work *work);
/* A split unit sees the addresses, and before DWARF 5 the ranges, of its skeleton. */
void dwarf_unit_join(struct dwarf_unit *split, const struct dwarf_unit *skeleton);

/* The DIE at the cursor: its abbreviation, or NULL where siblings end, which *end tells apart from
 * bytes that are bad. */
const struct dwarf_abbrev *dwarf_unit_die(
	const struct dwarf_abbrevs *abbrevs, struct cursor *c, bool *end);
/* Reads all attributes at the cursor, which is left behind them; those of the names go to out. */
void dwarf_unit_pick(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev,
	struct cursor *c, const uint16_t *names, size_t names_len, struct dwarf_value *out);
void dwarf_unit_skip(
	const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev, struct cursor *c);
/* All of .debug_info up to the unit's end, at the offset. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset);

/* Empty: the value is no string, or leads nowhere. */
struct bytes dwarf_unit_text(const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_unit_address(
	const struct dwarf_unit *unit, const struct dwarf_value *value, uint64_t *out);
/* Where a reference leads: which file's .debug_info, and the offset in it. */
bool dwarf_unit_ref(const struct dwarf_unit *unit, const struct dwarf_value *value,
	const struct dwarf **dwarf, uint64_t *offset);
