/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_form.h - decodes the values of attributes. DWARF 5 §7.5.5, §7.5.6.
 * dwarf_unit.h resolves values that are offsets or indices into other sections. */
#pragma once

#include "base/cursor.h"
#include "dwarf/dwarf_abbrev.h"

enum dwarf_class {
	DWARF_NONE = 0, /* no such attribute, or a kind that is not needed */
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,
	DWARF_NUMBER, /* a constant, flag, or an offset in a section */
	DWARF_OFFSET, /* DW_FORM_sec_offset */
	DWARF_LIST_INDEX,
	DWARF_TEXT,        /* the text itself */
	DWARF_TEXT_OFFSET, /* in .debug_str */
	DWARF_TEXT_LINE,   /* in .debug_line_str */
	DWARF_TEXT_ALT,    /* in the other file's .debug_str */
	DWARF_TEXT_INDEX,
	DWARF_REF,      /* offset from the unit's start */
	DWARF_REF_INFO, /* in .debug_info */
	DWARF_REF_ALT,  /* in the other file's .debug_info */
};

struct dwarf_value {
	uint32_t class; /* enum dwarf_class */
	uint32_t pad;
	uint64_t u;
	struct bytes text; /* DWARF_TEXT */
};

/* Bytes of a form; -1: variable, or the form is unknown. */
int dwarf_form_size(uint16_t number, const struct dwarf_format *format);
/* Reads one value, or skips it. An unknown form makes the cursor bad. */
void dwarf_form_read(struct cursor *c, const struct dwarf_format *format,
	const struct dwarf_spec *spec, struct dwarf_value *out);
