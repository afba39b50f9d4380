/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_index.h - the functions of single pages of rows, by the search table of
 * .eh_frame_hdr. A page costs what its own functions cost, whatever the size of the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf/eh_frame.h"
#include "elf/eh_table.h"

struct image;

/* Which pages a file has. */
struct rows_outline {
	uint32_t first, len; /* numbers of its pages, those between functions included */
	uint32_t used;       /* pages in which a function begins */
};

/* -ENODATA: the file's rows can be compiled whole only. It has no such table, or code that the
 * table does not list: Go's, or that of .debug_frame. -ENOMEM */
int rows_index_outline(struct image *image, struct rows_outline *out);

struct rows_index {
	struct image *image;
	struct eh_table table;
	uint64_t bytes_read, bytes_max; /* of records */
};

/* For a file that has an outline. -ENODATA, -ENOMEM. The image must outlive *out. */
int rows_index_open(struct image *image, struct rows_index *out);
void rows_index_done(struct rows_index *index);
/* Calls fn for each function that a page's rows depend on, and maybe for some more; by rising
 * address. *stats is added to. -EBADMSG: the table does not belong to the section; -ENOMEM; or fn's
 * error. */
int rows_index_walk(struct rows_index *index, uint32_t page, eh_frame_fn fn, void *arg,
	struct eh_frame_stats *stats);
