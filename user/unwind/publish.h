/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.h - rows → the BPF maps that the sampler searches (bpf/abi_rows.h).
 * Memory is a fixed number of slabs. An object's pages are loaded when it is published, or one by
 * one as they are hit when it is too large for that; the least used go when room is needed. A
 * page's data is written before its place is told, and its memory is given away only after a grace
 * period, so BPF never sees half a page. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "unwind/rows.h"

struct publish_maps {
	int objects, slabs, pages, rules; /* descriptors; stay the caller's */
	uint32_t slabs_len;
	uint32_t *objects_len; /* in the map; counted down for each that is taken out */
	/* Raised when an object's table comes or goes. */
	uint32_t *epoch;
	uint32_t *second; /* by which use is measured; never 0 */
	/* Returns when no tick that began before the call still runs. */
	void (*wait_for_ticks)(void);
};

struct publish_stats {
	uint64_t tables; /* objects with rows */
	uint64_t rows;   /* in BPF memory now */
	uint64_t bytes;  /* of pages there now; of slabs_bytes */
	uint64_t slabs_bytes;
	uint64_t pages_loaded, pages_evicted, pages_refused; /* refused: no room for them */
	uint64_t rules;
	uint64_t rules_refused; /* rows whose rule became CFA_UNSUPPORTED: the table of rules was
				   full */
};

struct publish;

int publish_new(const struct publish_maps *maps, struct publish **out);
void publish_free(struct publish *publish);

/* The object has no rows and never will: BPF walks it by frame pointer. */
int publish_none(struct publish *publish, const struct object_key *key, uint32_t id);
/* Nothing could be learnt of the object: BPF forgets it, and whoever meets its file next tells of
 * it again, under a new id. */
int publish_forget(struct publish *publish, const struct object_key *key);
/* The second in which BPF last met the object; 0: it did not, or does not know it. */
uint32_t publish_used(const struct publish *publish, const struct object_key *key);
/* Forgets objects altogether: BPF tells of their files when it meets them again, under other ids.
 */
void publish_drop(struct publish *publish, const uint32_t *ids, size_t len);
/* The object's rows. They are copied; for a large object they are kept, to load pages from.
 * -ENOSPC: no place for another table; BPF is told that there is none. */
int publish_rows(struct publish *publish, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view);
/* A page that BPF asked for. -ENOENT when the rows it came from are not kept: publish them again.
 */
int publish_page(struct publish *publish, uint32_t object, uint32_t page);
/* Gives mapped memory back; to be called when a batch is done. */
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
