/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf.h - the sections of DWARF of one file, and what reading them may cost.
 * Whoever reads them pays before: a reader whose purse is empty stops with -ETIME, so that no file
 * can hold us longer than its caller allows, whatever it refers to how often. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/image.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_CU_INDEX, /* of a package of split units */
	DWARF_SECTIONS,
};

struct dwarf {
	struct bytes sections[DWARF_SECTIONS]; /* empty: there is none */
	const struct dwarf *alt; /* what DW_FORM_*_alt and _sup refer to; NULL: none */
	bool split;              /* a .dwo or .dwp file */
};

/* Whichever sections there are, those of a .dwo file under their plain names. The image must stay
 * for as long as out is used. -ENODATA: neither units nor strings, or they are in another file;
 * else as image_section_bytes. */
int dwarf_init(struct image *image, struct dwarf *out);

struct dwarf_work {
	uint64_t bytes_left;     /* that may still be read, about */
	bool (*stop)(void *ctx); /* asked now and then, true: no more; NULL: never */
	void *ctx;
	uint64_t unasked; /* bytes since it was asked */
	bool stopped;     /* it said so */
};

/* False: no more may be read. */
bool dwarf_work_spend(struct dwarf_work *work, uint64_t bytes);

/* A string without its NUL. Empty: there is none, or it does not end within the section. */
struct bytes dwarf_string_at(struct bytes section, uint64_t offset);
struct bytes dwarf_string(struct cursor *c);
/* A number of 1, 2, 3, 4 or 8 bytes. */
uint64_t dwarf_number(struct cursor *c, unsigned int size);
