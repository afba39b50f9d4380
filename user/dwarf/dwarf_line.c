/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_line.c - runs the line program of a unit. Its sequences are sorted and rows that add
 * nothing are left out. Invariant: rows rise strictly, so one binary search answers. Of several
 * rows at an address the last counts, as in debuggers. Where sequences overlap, the one with the
 * lower start wins. */
#include "dwarf/dwarf_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define DWARF64 0xffffffffU
#define TOMBSTONE_MAX 1 /* where a linker leaves the lines of code that it dropped */
#define FORMATS_MAX 16  /* of an entry of the tables of version 5 */
#define PATH_BYTES_MAX 4096

enum { LNCT_PATH = 1, LNCT_DIRECTORY_INDEX = 2 };

enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_SET_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
};

enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

struct raw_row {
	uint64_t address;
	uint32_t line, file;
};

struct sequence {
	uint64_t start;
	size_t first, len; /* rows */
};

struct reader {
	const struct dwarf_unit *unit;
	struct dwarf_work *work;
	struct dwarf_lines *out;
	struct cursor c; /* the table and nothing after it */
	struct dwarf_format format;
	uint64_t program; /* where it begins */
	uint8_t min_step, max_ops, line_range, opcode_base;
	int8_t line_base;
	struct bytes lengths; /* how many operands, by opcode - 1 */

	uint64_t address, op_index;
	uint32_t line, file;
	VEC(struct raw_row) rows;
	VEC(struct sequence) sequences;
	size_t first; /* row of the sequence at work */
};

/* ---- header --------------------------------------------------------------------------------- */

static int read_head(struct reader *r, uint64_t offset)
{
	struct bytes section = r->unit->sections[DWARF_LINE];
	struct cursor all = cursor_init(section.data, section.len);
	uint64_t len, header_len;

	r->format = r->unit->format;
	r->format.offset_size = 4;
	cursor_seek(&all, offset);
	len = cursor_u32(&all);
	if (len == DWARF64) {
		r->format.offset_size = 8;
		len = cursor_u64(&all);
	}
	r->c = cursor_sub(&all, len);
	r->out->version = cursor_u16(&r->c);
	if (r->c.bad || r->out->version < 2 || r->out->version > 5)
		return -EBADMSG;
	r->format.version = (uint8_t)r->out->version;
	if (r->format.version >= 5) {
		r->format.address_size = cursor_u8(&r->c);
		cursor_u8(&r->c);
	}
	header_len = dwarf_number(&r->c, r->format.offset_size);
	r->program = header_len <= len ? cursor_offset(&r->c) + header_len : UINT64_MAX;
	r->min_step = cursor_u8(&r->c);
	r->max_ops = r->format.version >= 4 ? cursor_u8(&r->c) : 1;
	cursor_u8(&r->c);
	r->line_base = (int8_t)cursor_u8(&r->c);
	r->line_range = cursor_u8(&r->c);
	r->opcode_base = cursor_u8(&r->c);
	r->lengths = cursor_bytes(&r->c, r->opcode_base > 0 ? r->opcode_base - 1U : 0);
	return r->c.bad || r->line_range == 0 || r->max_ops == 0 ? -EBADMSG : 0;
}

static int add_dir(struct reader *r, struct bytes name)
{
	struct bytes *dir;

	if (r->out->dirs.len >= DWARF_LINE_FILES_MAX)
		return -EBADMSG;
	dir = vec_add(&r->out->dirs);
	if (!dir)
		return -ENOMEM;
	*dir = name;
	return 0;
}

static int add_file(struct reader *r, struct bytes name, uint64_t dir)
{
	struct dwarf_file *file;

	if (r->out->files.len >= DWARF_LINE_FILES_MAX)
		return -EBADMSG;
	file = vec_add(&r->out->files);
	if (!file)
		return -ENOMEM;
	*file = (struct dwarf_file){ name, dir };
	return 0;
}

/* Versions 2 to 4. Number 0 is the unit's directory, and no file. */
static int read_old_tables(struct reader *r)
{
	struct bytes name;
	int err = add_dir(r, (struct bytes){ 0 });

	if (err == 0)
		err = add_file(r, (struct bytes){ 0 }, 0);
	while (err == 0 && (name = dwarf_string(&r->c)).len > 0)
		err = add_dir(r, name);
	while (err == 0 && (name = dwarf_string(&r->c)).len > 0) {
		uint64_t dir = cursor_uleb(&r->c);

		cursor_uleb(&r->c);
		cursor_uleb(&r->c);
		err = add_file(r, name, dir);
	}
	return err;
}

/* One of the two tables of version 5. */
static int read_table(struct reader *r, bool files)
{
	struct dwarf_spec specs[FORMATS_MAX] = { 0 };
	uint8_t specs_len = cursor_u8(&r->c);
	uint64_t len;

	if (specs_len > FORMATS_MAX)
		return -EBADMSG;
	for (int i = 0; i < specs_len; i++) {
		uint64_t name = cursor_uleb(&r->c), form = cursor_uleb(&r->c);

		if (name > UINT16_MAX || form > UINT16_MAX || form == DW_FORM_implicit_const)
			return -EBADMSG;
		specs[i] = (struct dwarf_spec){ (uint16_t)name, (uint16_t)form, 0, 0 };
	}
	len = cursor_uleb(&r->c);
	for (uint64_t i = 0; i < len && !r->c.bad; i++) {
		struct bytes name = { 0 };
		uint64_t dir = 0;
		int err;

		for (int s = 0; s < specs_len; s++) {
			struct dwarf_value value;

			dwarf_form_read(&r->c, &r->format, &specs[s], &value);
			if (specs[s].name == LNCT_PATH)
				name = dwarf_unit_text(r->unit, &value);
			else if (specs[s].name == LNCT_DIRECTORY_INDEX)
				dir = value.u;
		}
		if (!dwarf_work_spend(r->work, 16))
			return -ETIME;
		err = files ? add_file(r, name, dir) : add_dir(r, name);
		if (err < 0)
			return err;
	}
	return 0;
}

static int read_header(struct reader *r, uint64_t offset)
{
	int err = read_head(r, offset);

	if (err < 0)
		return err;
	if (!dwarf_work_spend(r->work, cursor_left(&r->c)))
		return -ETIME;
	if (r->format.version < 5)
		err = read_old_tables(r);
	else
		err = read_table(r, false);
	if (err == 0 && r->format.version >= 5)
		err = read_table(r, true);
	return err == 0 && r->c.bad ? -EBADMSG : err;
}

/* ---- program -------------------------------------------------------------------------------- */

static void reset(struct reader *r)
{
	r->address = r->op_index = 0;
	r->file = r->line = 1;
	r->first = r->rows.len;
}

static int put_row(struct reader *r, uint32_t file)
{
	struct raw_row *row = r->rows.len > r->first ? &r->rows.data[r->rows.len - 1] : NULL;

	if (row && row->line == r->line && row->file == file)
		return 0;
	if (!row || row->address != r->address)
		row = r->rows.len < DWARF_LINE_ROWS_MAX ? vec_add(&r->rows) : NULL;
	if (!row)
		return r->rows.len < DWARF_LINE_ROWS_MAX ? -ENOMEM : -EBADMSG;
	*row = (struct raw_row){ r->address, r->line, file };
	return 0;
}

static int end_sequence(struct reader *r)
{
	struct sequence *sequence;
	int err = put_row(r, DWARF_LINE_NO_FILE);

	if (err < 0)
		return err;
	if (r->rows.data[r->first].address <= TOMBSTONE_MAX) {
		r->rows.len = r->first;
	} else {
		sequence = vec_add(&r->sequences);
		if (!sequence)
			return -ENOMEM;
		*sequence = (struct sequence){ r->rows.data[r->first].address, r->first,
			r->rows.len - r->first };
	}
	reset(r);
	return 0;
}

static void advance(struct reader *r, uint64_t operations)
{
	if (r->max_ops == 1) {
		r->address += operations * r->min_step;
		return;
	}
	operations += r->op_index;
	r->address += operations / r->max_ops * r->min_step;
	r->op_index = operations % r->max_ops;
}

static int run_extended(struct reader *r)
{
	struct cursor c = cursor_sub(&r->c, cursor_uleb(&r->c));
	uint8_t opcode = cursor_u8(&c);

	if (opcode == LNE_END_SEQUENCE)
		return end_sequence(r);
	if (opcode == LNE_SET_ADDRESS) {
		r->address = dwarf_number(&c, (unsigned int)cursor_left(&c));
		r->op_index = 0;
	}
	return c.bad ? -EBADMSG : 0;
}

static int run_standard(struct reader *r, uint8_t opcode)
{
	switch (opcode) {
	case LNS_COPY:
		return put_row(r, r->file);
	case LNS_ADVANCE_PC:
		advance(r, cursor_uleb(&r->c));
		return 0;
	case LNS_ADVANCE_LINE:
		r->line += (uint32_t)cursor_sleb(&r->c);
		return 0;
	case LNS_SET_FILE:
		r->file = (uint32_t)cursor_uleb(&r->c);
		return 0;
	case LNS_CONST_ADD_PC:
		advance(r, (uint64_t)(255 - r->opcode_base) / r->line_range);
		return 0;
	case LNS_FIXED_ADVANCE_PC:
		r->address += cursor_u16(&r->c);
		r->op_index = 0;
		return 0;
	}
	for (uint8_t i = 0; i < r->lengths.data[opcode - 1]; i++)
		cursor_uleb(&r->c);
	return 0;
}

static int run(struct reader *r)
{
	int err = 0;

	reset(r);
	cursor_seek(&r->c, r->program);
	while (err == 0 && cursor_left(&r->c) > 0) {
		uint8_t opcode = cursor_u8(&r->c);

		if (opcode >= r->opcode_base) {
			uint8_t special = opcode - r->opcode_base;

			advance(r, special / r->line_range);
			r->line += (uint32_t)(r->line_base + special % r->line_range);
			err = put_row(r, r->file);
		} else {
			err = opcode == 0 ? run_extended(r) : run_standard(r, opcode);
		}
	}
	/* The part before the error is as good as before. */
	return err == -EBADMSG ? 0 : err;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int put_final(struct dwarf_lines *out, const struct raw_row *raw)
{
	struct dwarf_row *last = out->rows.len ? &out->rows.data[out->rows.len - 1] : NULL;
	uint64_t start = raw->address - out->base;

	if (raw->address < out->base || start > UINT32_MAX || (last && start < last->start))
		return 0;
	if (!last || last->start != start) {
		if (last && last->line == raw->line && last->file == raw->file)
			return 0;
		last = vec_add(&out->rows);
	}
	if (!last)
		return -ENOMEM;
	*last = (struct dwarf_row){ (uint32_t)start, raw->line, raw->file };
	return 0;
}

static int settle(struct reader *r)
{
	int err = 0;

	if (r->sequences.len == 0)
		return 0;
	qsort(r->sequences.data, r->sequences.len, sizeof(*r->sequences.data), by_start);
	r->out->base = r->sequences.data[0].start;
	for (size_t s = 0; s < r->sequences.len && err == 0; s++) {
		const struct sequence *sequence = &r->sequences.data[s];

		for (size_t i = 0; i < sequence->len && err == 0; i++)
			err = put_final(r->out, &r->rows.data[sequence->first + i]);
	}
	return err;
}

int dwarf_lines_read(const struct dwarf_unit *unit, uint64_t offset, bool rows,
	struct dwarf_work *work, struct dwarf_lines *out)
{
	_cleanup_(dwarf_lines_done) struct dwarf_lines made = { 0 };
	struct reader r = { .unit = unit, .work = work, .out = &made };
	int err = read_header(&r, offset);

	if (err == 0 && rows)
		err = run(&r);
	if (err == 0)
		err = settle(&r);
	vec_done(&r.rows);
	vec_done(&r.sequences);
	if (err < 0)
		return err;
	*out = made;
	made = (struct dwarf_lines){ 0 };
	return 0;
}

void dwarf_lines_done(struct dwarf_lines *lines)
{
	vec_done(&lines->rows);
	vec_done(&lines->dirs);
	vec_done(&lines->files);
}

const struct dwarf_row *dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address)
{
	size_t low = 0, high = lines->rows.len;

	if (address < lines->base || address - lines->base > UINT32_MAX)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->rows.data[middle].start <= address - lines->base)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || lines->rows.data[low - 1].file == DWARF_LINE_NO_FILE)
		return NULL;
	return &lines->rows.data[low - 1];
}

/* ---- paths ---------------------------------------------------------------------------------- */

static bool is_absolute(struct bytes path)
{
	return path.len > 0 && path.data[0] == '/';
}

static int put_part(struct buf *out, struct bytes part)
{
	int err;

	if (part.len == 0 || part.len > PATH_BYTES_MAX)
		return 0;
	err = buf_put(out, part.data, part.len);
	return err == 0 && part.data[part.len - 1] != '/' ? buf_putc(out, '/') : err;
}

static struct bytes dir_at(const struct dwarf_lines *lines, uint64_t dir)
{
	return dir < lines->dirs.len ? lines->dirs.data[dir] : (struct bytes){ 0 };
}

/* Directory 0 is the unit's own: version 5 has it in the table, earlier ones do not. */
int dwarf_lines_path(
	const struct dwarf_lines *lines, struct bytes unit_dir, uint32_t file, struct buf *out)
{
	struct bytes name, dir, top = dir_at(lines, 0);
	size_t before = out->len;
	int err = 0;

	if (file >= lines->files.len || lines->files.data[file].name.len == 0 ||
		lines->files.data[file].name.len > PATH_BYTES_MAX)
		return 0;
	name = lines->files.data[file].name;
	dir = dir_at(lines, lines->files.data[file].dir);
	if (top.len == 0)
		top = unit_dir;
	if (!is_absolute(name)) {
		if (!is_absolute(dir))
			err = put_part(out, top);
		if (err == 0 && lines->files.data[file].dir != 0)
			err = put_part(out, dir);
	}
	if (err == 0)
		err = buf_put(out, name.data, name.len);
	if (err < 0)
		out->len = before;
	return err;
}

size_t dwarf_lines_memory(const struct dwarf_lines *lines)
{
	return lines->rows.cap * sizeof(*lines->rows.data) +
		lines->dirs.cap * sizeof(*lines->dirs.data) +
		lines->files.cap * sizeof(*lines->files.data);
}
