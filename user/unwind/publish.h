/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.h - rows → the BPF maps that the sampler searches (bpf/abi_rows.h).
 * The border between what a worker made of a stranger's file and what the kernel trusts: whatever
 * is published, in whatever order, and whatever fails, no page number or byte belongs to two
 * tables, and BPF is told what became of each object. Memory is a fixed number of slabs. An
 * object's pages are loaded when it is published, or one by one as they are hit when it is too
 * large for that; the least used go when room is needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "unwind/row_maps.h"
#include "unwind/rows.h"

struct publish_stats {
	uint64_t tables; /* objects with rows */
	uint64_t rows;   /* in BPF memory now */
	uint64_t bytes;  /* of pages there now; of slabs_bytes */
	uint64_t slabs_bytes;
	uint64_t pages_loaded, pages_evicted, pages_refused; /* refused: no room for them */
	uint64_t tables_refused; /* there were no page numbers or no memory for them */
	uint64_t rules;
	uint64_t rules_refused; /* became CFA_UNSUPPORTED, as the map of rules was full; counted
				   for each table that has them */
	uint64_t unsettled;     /* objects whose entry in the map could not be updated yet */
};

struct publish_object {
	struct object_key key;
	uint32_t id;
};

struct publish;

/* *maps is copied; what it points to must outlive the result. */
int publish_new(const struct row_maps *maps, struct publish **out);
void publish_free(struct publish *publish);

/* What follows returns 0 or -errno: -ENOENT, the object is not in the map, and nothing is kept of
 * it; any other error of the map, publish_settle() tries again. */

/* The object has no rows and never will: BPF walks it by frame pointer. */
int publish_none(struct publish *publish, const struct object_key *key, uint32_t id);
/* The object's rows, instead of those that it had. They are copied, and kept where not all of them
 * are loaded at once. -ENOSPC, -ENOMEM: there is no room for the table. The object has none then,
 * and is forgotten when there is room, so that its file is met again. Where the rows are the same
 * as before, the table stays, and BPF asks for the pages that are missing. */
int publish_rows(struct publish *publish, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view);
enum publish_outcome {
	PUBLISH_NO_SUCH_PAGE = 1, /* the object has none of that number */
	PUBLISH_NOT_KEPT,         /* the rows of the page are not kept: publish them again */
};

/* Loads a page that BPF asked for. 0: it is loaded; an enum publish_outcome; or -ENOSPC, -ENOMEM:
 * BPF asks again when it needs the page. */
int publish_page(struct publish *publish, uint32_t object, uint32_t page);

/* Forgets objects: BPF meets their files anew, under other ids. */
void publish_drop(struct publish *publish, const struct publish_object *objects, size_t len);
/* Tries failed updates again, and lets refused tables come back where there is room. Call about
 * once a second. */
void publish_settle(struct publish *publish);
/* Unmaps what was mapped for a batch. */
void publish_rest(struct publish *publish);

/* The second in which BPF last met the object; 0: it did not, or does not know it. */
uint32_t publish_used(const struct publish *publish, const struct object_key *key);
/* For walks in user space: the data of the page that an offset is in, as BPF sees it, good until
 * the next call. END_NONE, with no data where no function is; END_NO_TABLE: the page is not there.
 */
uint32_t publish_find_page(
	struct publish *publish, uint32_t object, uint64_t offset, struct bytes *data);
/* The object's enum table_state; TABLE_PENDING where nothing is known of it. */
uint32_t publish_table(const struct publish *publish, uint32_t object);
/* id as in the page's data; 0 is CFA_NONE. */
const struct unwind_rule *publish_rule(const struct publish *publish, uint32_t id);
void publish_stats(const struct publish *publish, struct publish_stats *out);
