/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_abbrev.h - abbreviations: the tag and attributes of a DIE, by its code. DWARF 5
 * §7.5.3. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"

#define DWARF_ABBREV_VARIES UINT32_MAX

/* Parameters that set the length of some forms, for the units of a table. */
struct dwarf_format {
	uint8_t version;      /* 2 to 5 */
	uint8_t address_size; /* 4 or 8 */
	uint8_t offset_size;  /* 4 or 8 */
};

struct dwarf_spec {
	uint16_t name; /* DW_AT_*; 0: unknown */
	uint16_t form; /* DW_FORM_* */
	int32_t pad;
	int64_t implicit; /* the value of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint32_t specs; /* index of the first */
	uint16_t specs_len;
	uint16_t tag;   /* DW_TAG_*; 0: unknown */
	uint32_t bytes; /* of all attributes together, or DWARF_ABBREV_VARIES */
	bool children;
};

struct dwarf_abbrevs {
	VEC(struct dwarf_abbrev) all;
	VEC(struct dwarf_spec) specs;
	struct hash by_code; /* codes that differ from their index, counted from 1 */
	struct dwarf_format format;
};

/* Parses the table at an offset of the section, up to its end or to code `last` (0: to the end).
 * -EBADMSG, -ENOMEM, -ETIME. *out is the caller's. */
int dwarf_abbrevs_parse(struct bytes section, uint64_t offset, const struct dwarf_format *format,
	uint64_t last, struct dwarf_work *work, struct dwarf_abbrevs *out);
void dwarf_abbrevs_done(struct dwarf_abbrevs *abbrevs);
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);
size_t dwarf_abbrevs_memory(const struct dwarf_abbrevs *abbrevs);
