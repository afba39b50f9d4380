/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_form.h - the values of attributes, as they are encoded. DWARF 5 §7.5.5, §7.5.6.
 * What a value means, an offset or an index in some section, dwarf_unit.h knows. */
#pragma once

#include "base/cursor.h"
#include "dwarf/dwarf_abbrev.h"

enum dwarf_class {
	DWARF_NONE = 0, /* no such attribute, or of a kind that is not needed */
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,
	DWARF_NUMBER, /* a constant, flag, or an offset in a section */
	DWARF_OFFSET, /* DW_FORM_sec_offset */
	DWARF_LIST_INDEX,
	DWARF_TEXT,        /* in place */
	DWARF_TEXT_OFFSET, /* in .debug_str */
	DWARF_TEXT_LINE,   /* in .debug_line_str */
	DWARF_TEXT_ALT,    /* in the other file's .debug_str */
	DWARF_TEXT_INDEX,
	DWARF_REF,      /* from the unit's start */
	DWARF_REF_INFO, /* in .debug_info */
	DWARF_REF_ALT,  /* in the other file's .debug_info */
};

struct dwarf_value {
	uint32_t class; /* enum dwarf_class */
	uint32_t pad;
	uint64_t u;
	struct bytes text; /* DWARF_TEXT */
};

/* Bytes that a form takes; -1: it depends, or the form is not known. */
int dwarf_form_size(uint16_t number, const struct dwarf_format *format);
/* Reads one value, or only goes past it. A form that is not known is bad. */
void dwarf_form_read(struct cursor *c, const struct dwarf_format *format,
	const struct dwarf_spec *spec, struct dwarf_value *out);
