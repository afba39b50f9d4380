/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf.h - the DWARF sections of one file, and a budget for reading them.
 * Readers spend from the budget before they read, and stop with -ETIME when it is empty. So no file
 * can take more time than the caller allows, however its parts refer to each other. */
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
	DWARF_CU_INDEX, /* index of a package of split units */
	DWARF_SECTIONS,
};

struct dwarf {
	struct bytes sections[DWARF_SECTIONS]; /* empty: missing */
	const struct dwarf *alt;               /* target of DW_FORM_*_alt and _sup; NULL: none */
	bool split;                            /* a .dwo or .dwp file */
};

/* Collects the existing sections, those of a .dwo file under their plain names. The image must
 * outlive out. -ENODATA: neither units nor strings, or they are in another file; else as
 * image_section_bytes. */
int dwarf_init(struct image *image, struct dwarf *out);

struct dwarf_work {
	uint64_t bytes_left;     /* remaining budget, approximate */
	bool (*stop)(void *ctx); /* polled from time to time; true: stop; NULL: never */
	void *ctx;
	uint64_t unasked; /* bytes since the last poll */
	bool stopped;     /* stop() returned true */
};

/* False: the budget is used up. */
bool dwarf_work_spend(struct dwarf_work *work, uint64_t bytes);

/* A string without its NUL. Empty: the offset or the end is outside the section. */
struct bytes dwarf_string_at(struct bytes section, uint64_t offset);
struct bytes dwarf_string(struct cursor *c);
/* A number of 1, 2, 3, 4 or 8 bytes. */
uint64_t dwarf_number(struct cursor *c, unsigned int size);
