/* SPDX-License-Identifier: Apache-2.0 */
/* store/index.h - what is known of segments without opening them: a line of JSON for each. It is a
 * help and no more: a line is believed as long as a file of its name and size is there, and what
 * has no line is looked at. */
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
	VEC(uint64_t) sources;           /* of all: ids that are not to be counted */
	struct strtab texts;
	uint32_t bad; /* lines that cannot be read */
};

int index_init(struct index *index);
void index_done(struct index *index);

/* What a segment's head says. name and bytes are the file's. 0 or -ENOMEM. */
int index_add(struct index *index, const struct segment *segment, const char *name, uint64_t bytes);
/* Lines of text; those that cannot be read are counted and passed over. 0 or -ENOMEM. */
int index_parse(struct index *index, struct bytes text);
/* Appends an entry's line. 0 or -ENOMEM. */
int index_put_line(struct buf *out, const struct index *index, const struct store_entry *entry);
