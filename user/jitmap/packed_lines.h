/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/packed_lines.h - line tables in a few bytes a row: a count, then rows that tell what
 * differs from the row before (LEB128). Many tables lie in one buffer and are known by their
 * offsets. For what this process packed itself; a cursor over anything else goes bad instead of
 * astray. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

struct packed_line {
	uint64_t offset; /* from the code's start; below 2^62 */
	uint64_t line;
	uint32_t file; /* whatever the owner numbers files by */
};

/* At most 20 bytes a row, 3 in the usual case. 0 or -ENOMEM. */
int packed_lines_begin(struct buf *out, uint64_t rows);
/* last: the row before; zeroed for the first. */
int packed_lines_put(
	struct buf *out, const struct packed_line *last, const struct packed_line *row);

/* The table at an offset; its rows follow. */
struct cursor packed_lines_open(const struct buf *from, uint32_t offset, uint64_t *rows);
/* Turns the row before (zeroed for the first) into the next. */
void packed_lines_next(struct cursor *c, struct packed_line *row);
