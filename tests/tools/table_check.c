/* SPDX-License-Identifier: Apache-2.0 */
/* tests/tools/table_check.c - holds what tools/python-table prints against what is built in.
 *     table_check FILE < table      FILE: the python3 or libpython3 that the table is of
 * Prints each number that differs. Exit 1: some differ; 2: the file or the table cannot be read; 3:
 * nothing is built in for the file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "elf/image.h"
#include "language/cpython.h"
#include "language/cpython_table.h"

#define FILE_BYTES_MAX (1UL << 30)

static int differs(const char *name, unsigned int built_in, unsigned int own)
{
	if (built_in != own)
		printf("%s: %u is built in, the table has %u\n", name, built_in, own);
	return built_in != own;
}

#define FIELD(field) different |= differs(#field, a->field, b->field)

/* Of what only some kinds of segments and of places use. */
static int compare_by_kind(const struct language *a, const struct language *b)
{
	int different = 0;

	if (a->segment_end != SEGMENT_EVERY)
		FIELD(frame_end);
	if (a->thread_link && a->segment_end != SEGMENT_SHIM)
		FIELD(link_previous);
	if (a->thread_link && !a->thread_frame)
		FIELD(link_frame);
	if (a->place_kind == PLACE_ADDRESS)
		FIELD(code_first);
	return different;
}

static int compare(const struct language *a, const struct language *b)
{
	int different = compare_by_kind(a, b);

	FIELD(segment_end);
	FIELD(segment_value);
	FIELD(key);
	FIELD(current);
	FIELD(interpreters);
	FIELD(threads);
	FIELD(thread_next);
	FIELD(thread_id);
	FIELD(thread_frame);
	FIELD(thread_link);
	FIELD(code_window);
	FIELD(code_copies);
	FIELD(place_kind);
	FIELD(frame_is_large);
	FIELD(frame_code);
	FIELD(frame_previous);
	FIELD(frame_place);
	FIELD(frame_copy);
	FIELD(code_file);
	FIELD(code_name);
	FIELD(code_lines);
	FIELD(code_first_line);
	FIELD(text_ascii);
	FIELD(text_other);
	FIELD(code_tag);
	FIELD(object_extra);
	FIELD(text_shift);
	return different;
}

int main(int argc, char **argv)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT, file = BUF_INIT;
	struct language built_in, own;
	struct cpython_table table;
	struct cpython_facts facts;
	struct image image;
	struct why why;

	if (argc != 2 || fd_read_all(0, CPYTHON_TABLE_BYTES_MAX, &text) < 0 || text.len == 0 ||
		fd_read_path(argv[1], FILE_BYTES_MAX, &file) < 0 ||
		image_init(&image, file.data, file.len, &why) < 0 || !cpython_find(&image, &facts))
		return 2;
	cpython_table_parse(text.data, text.len, &table);
	if (table.fault != CPYTHON_TABLE_OK || table.version != facts.version) {
		printf("%s\n", cpython_table_text((enum cpython_table_fault)table.fault));
		return 2;
	}
	if (!cpython_describe(&facts, &built_in))
		return 3;
	cpython_table_describe(&table, &facts, &own);
	return compare(&built_in, &own);
}
