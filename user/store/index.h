/* SPDX-License-Identifier: Apache-2.0 */
/* store/index.h - facts about segments without opening them: a line of JSON for each. The index
 * only saves time: a line counts while a file of its name and size exists, and a file without a
 * line is opened. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "store/store.h"

struct index {
	VEC(struct store_entry) entries; /* in the order of the lines */
	VEC(struct store_group) groups;  /* of all; entry.groups is an index here */
	VEC(struct store_kind) kinds;    /* likewise */
	VEC(uint64_t) sources;           /* of all: ids of segments that others replace */
	struct strtab texts;
	uint32_t bad; /* lines that cannot be read */
};

int index_init(struct index *index);
void index_done(struct index *index);

/* Adds the facts of a segment's head. name and bytes are the file's. 0 or -ENOMEM. */
int index_add(struct index *index, const struct segment *segment, const char *name, uint64_t bytes);
/* Adds the lines of a text; unreadable lines are counted and skipped. 0 or -ENOMEM. */
int index_parse(struct index *index, struct bytes text);
/* Appends an entry's line. Returns buf_err(out). */
int index_put_line(struct buf *out, const struct index *index, const struct store_entry *entry);
