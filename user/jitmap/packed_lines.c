/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/packed_lines.c - the lowest bit of a row's first number is set if a file number
 * follows: files change seldom, addresses and lines by little. The owner remembers the tables'
 * offsets. */
#include "jitmap/packed_lines.h"

#include <stdbool.h>

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

int packed_lines_begin(struct buf *out, uint64_t rows)
{
	return buf_put_uleb(out, rows);
}

int packed_lines_put(struct buf *out, const struct packed_line *last, const struct packed_line *row)
{
	bool has_file = last->file != row->file;
	uint64_t step = zigzag((int64_t)(row->offset - last->offset));

	buf_put_uleb(out, step << 1 | has_file);
	buf_put_uleb(out, zigzag((int64_t)(row->line - last->line)));
	return has_file ? buf_put_uleb(out, row->file) : buf_err(out);
}

struct cursor packed_lines_open(const struct buf *from, uint32_t offset, uint64_t *rows)
{
	struct cursor c = cursor_init(from->data, from->len);

	cursor_seek(&c, offset);
	*rows = cursor_uleb(&c);
	return c;
}

void packed_lines_next(struct cursor *c, struct packed_line *row)
{
	uint64_t step = cursor_uleb(c);

	row->offset += (uint64_t)unzigzag(step >> 1);
	row->line += (uint64_t)unzigzag(cursor_uleb(c));
	if (step & 1)
		row->file = (uint32_t)cursor_uleb(c);
}
