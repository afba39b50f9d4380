/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/packed_lines.h - line tables in a few bytes a row: a count, then rows as differences from
 * the row before (LEB128). Many tables share a buffer and are identified by their offsets. Only for
 * data that this process packed; on other data the cursor goes bad, without harm. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

struct packed_line {
	uint64_t offset; /* from the code's start; below 2^62 */
	uint64_t line;
	uint32_t file; /* in the owner's numbering */
};

/* At most 20 bytes a row, 3 in the usual case. 0 or -ENOMEM. */
int packed_lines_begin(struct buf *out, uint64_t rows);
/* last: the row before; zeroed for the first. */
int packed_lines_put(
	struct buf *out, const struct packed_line *last, const struct packed_line *row);

/* Opens the table at an offset; its rows follow. */
struct cursor packed_lines_open(const struct buf *from, uint32_t offset, uint64_t *rows);
/* Turns the row before (zeroed for the first) into the next. */
void packed_lines_next(struct cursor *c, struct packed_line *row);
