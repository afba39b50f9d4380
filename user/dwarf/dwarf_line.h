/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_line.h - the line table of one unit: source file and line by address.
 * DWARF 5 §6.2, and the headers of versions 2 to 4. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "dwarf/dwarf_unit.h"

#define DWARF_LINE_NO_FILE UINT32_MAX
/* Limits of one table; further rows and files are left out. */
#define DWARF_LINE_ROWS_MAX (1U << 22)
#define DWARF_LINE_FILES_MAX (1U << 18)

struct dwarf_row {
	uint32_t start; /* relative to base; extends to the next row */
	uint32_t line;  /* 0: no line */
	uint32_t file;  /* numbered like call_file; DWARF_LINE_NO_FILE: no code */
};

struct dwarf_file {
	struct bytes name; /* points into the file's bytes */
	uint64_t dir;
};

struct dwarf_lines {
	uint64_t base;
	VEC(struct dwarf_row) rows; /* sorted, without duplicate addresses */
	VEC(struct bytes) dirs;
	VEC(struct dwarf_file) files;
	uint16_t version;
};

/* Reads the table at an offset of the unit's .debug_line, with its rows or without. -EBADMSG,
 * -ENOMEM, -ETIME; rows beyond 4 GiB from the first are left out. *out is the caller's. */
int dwarf_lines_read(const struct dwarf_unit *unit, uint64_t offset, bool rows,
	struct dwarf_work *work, struct dwarf_lines *out);
void dwarf_lines_done(struct dwarf_lines *lines);
/* NULL: no row covers the address. */
const struct dwarf_row *dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address);
/* Appends a file's path, absolute if the table and the unit's directory allow it. Nothing if there
 * is no such file. -ENOMEM. */
int dwarf_lines_path(
	const struct dwarf_lines *lines, struct bytes unit_dir, uint32_t file, struct buf *out);
size_t dwarf_lines_memory(const struct dwarf_lines *lines);
