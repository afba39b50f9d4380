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
	uint64_t tables_refused; /* no page numbers or memory for them */
	uint64_t rules;
	uint64_t rules_refused; /* rows whose rule became CFA_UNSUPPORTED: the table of rules was
				   full */
	uint64_t untold;        /* objects that BPF could not be told of, yet */
};

struct publish_object {
	struct object_key key;
	uint32_t id;
};

struct publish;

/* maps must outlive it. */
int publish_new(const struct row_maps *maps, struct publish **out);
void publish_free(struct publish *publish);

/* The object has no rows and never will: BPF walks it by frame pointer. -ENOENT: BPF does not
 * know it. Another error: BPF could not be told; publish_settle tries again. */
int publish_none(struct publish *publish, const struct object_key *key, uint32_t id);
/* The second in which BPF last met the object; 0: it did not, or does not know it. */
uint32_t publish_used(const struct publish *publish, const struct object_key *key);
/* Forgets objects altogether: BPF tells of their files when it meets them again, under other ids.
 */
void publish_drop(struct publish *publish, const struct publish_object *objects, size_t len);
/* The object's rows, in place of those that it had. They are copied; for a large object they are
 * kept, to load pages from. -ENOSPC, -ENOMEM: no room for the table; BPF is told that there is
 * none, and of its file again once tables were dropped. Other errors are as publish_none's; after
 * -ENOENT nothing of the table is left. */
int publish_rows(struct publish *publish, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view);
/* A page that BPF asked for. -EINVAL: the object has no such page; -ENOENT: the rows it came from
 * are not kept: publish them again; -ENOSPC, -ENOMEM: BPF asks again when it is needed. */
int publish_page(struct publish *publish, uint32_t object, uint32_t page);
/* Tries again what BPF could not be told. To be called about once a second. */
void publish_settle(struct publish *publish);
/* Lets go of mapped memory; to be called when a batch is done. */
void publish_rest(struct publish *publish);

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
