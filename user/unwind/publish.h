/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish.h - writes rows into the BPF maps that the sampler searches (bpf/abi_rows.h). Rows
 * come from a worker that read an untrusted file; the kernel trusts the maps. Whatever is
 * published, in whatever order, and whatever fails, no page number or byte belongs to two tables,
 * and BPF learns the state of each object. Memory is a fixed number of slabs. An object's pages are
 * loaded when it is published; those of a large object are loaded one by one, as ticks need them.
 * An object with an outline has each page compiled when it is needed. Accounts share what there is:
 * the pages, numbers and rules of those that hold most make room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "unwind/row_maps.h"
#include "unwind/rows.h"

struct publish_stats {
	uint64_t tables; /* files with rows: the vDSO is none */
	uint64_t rows;   /* currently in BPF memory */
	uint64_t bytes;  /* currently used by pages, of slabs_bytes */
	uint64_t slabs_bytes;
	uint64_t pages_loaded, pages_evicted, pages_refused; /* refused: no room */
	uint64_t tables_refused; /* for lack of page numbers or memory */
	uint64_t tables_evicted; /* to make room for page numbers of others */
	uint64_t rules;          /* rules that rows in BPF memory, or kept ones, refer to */
	uint64_t rules_refused;  /* became CFA_UNSUPPORTED: the map of rules was full */
	uint64_t languages_refused; /* runtimes without a description, for want of room */
	uint64_t kept_bytes;     /* of rows that are kept to load pages from */
	uint64_t unsettled;      /* objects whose map entry is not updated yet */
};

struct publish_object {
	struct object_key key;
	uint32_t id;
};

struct publish;

/* *maps is copied; everything it points to must outlive the result. */
int publish_new(const struct row_maps *maps, struct publish **out);
void publish_free(struct publish *publish);

/* These functions return 0 or -errno. -ENOENT: the object is not in the map, and its state is
 * dropped. After any other error of the map publish_settle() tries again. */

/* Marks an object that has no rows: BPF walks it by frame pointer. */
int publish_none(struct publish *publish, const struct object_key *key, uint32_t id);
/* Sets or replaces the object's rows. They are copied, and the copy is kept if not all pages are
 * loaded at once. An outline gives the object its page numbers; pages go to publish_pages().
 * Unchanged rows keep their table, and BPF requests missing pages again. -ENOSPC, -ENOMEM: no room;
 * the object has no table, and is dropped when there is room, so that its file is met again. */
int publish_rows(struct publish *publish, const struct object_key *key, uint32_t id,
	const struct unwind_rows_view *view);

/* Says how the frames of the object's runtime are found, which BPF learns with its rows, or if it
 * has those, by publish_settle. account pays for the place. -ENOSPC: all places are taken, or all
 * that the account may have. */
int publish_language(struct publish *publish, const struct object_key *key, uint32_t id,
	uint64_t account, const struct language *language);

enum publish_outcome {
	PUBLISH_NO_SUCH_PAGE = 1, /* the object has none of that number */
	PUBLISH_NOT_KEPT,         /* the rows of the page are not kept: publish them again */
	PUBLISH_NOT_COMPILED,     /* the object has an outline: compile and publish the page */
};

/* Loads a page that BPF requested. 0: it is loaded; an enum publish_outcome; or -ENOSPC, -ENOMEM:
 * BPF requests it again at the next need. */
int publish_page(struct publish *publish, uint32_t object, uint32_t page);

/* Loads pages of an object that has an outline. 0: those that it has are loaded, or marked as
 * without functions; or as publish_page(). */
int publish_pages(struct publish *publish, uint32_t object, const struct unwind_rows_view *view);
/* The page's number in its file. */
uint32_t publish_page_number(const struct publish *publish, uint32_t object, uint32_t page);
/* The page of this number in the object's file does not come: BPF may request it again. */
void publish_page_late(struct publish *publish, uint32_t object, uint32_t number);
/* Has the object an outline, and is the page of this number still to be compiled? */
bool publish_lacks_page(const struct publish *publish, uint32_t object, uint64_t number);

/* Tasks of this account use the object, which it pays for from now on (base/share.h); unknown
 * objects are ignored. */
void publish_charge(struct publish *publish, uint32_t object, uint64_t account);
/* The charges of an interval begin. */
void publish_charges_begin(struct publish *publish);
/* Threads waited in the object in this interval: it is in use without a tick for two more. */
void publish_waited(struct publish *publish, uint32_t object);
/* How many objects went although threads may wait in them: their stacks name what is no more. */
uint64_t publish_waited_gone(const struct publish *publish);

/* The accounts that pay for the object; 0: none is known yet. Valid until the next call. */
uint32_t publish_payers(
	const struct publish *publish, uint32_t object, const uint64_t **accounts);

/* Removes objects: BPF gives their files new ids. */
void publish_drop(struct publish *publish, const struct publish_object *objects, size_t len);
/* Repeats failed updates, and drops refused objects when there is room. True: call it again, a
 * second later. */
bool publish_settle(struct publish *publish);
/* Unmaps the slab that a batch of calls left mapped. */
void publish_unmap(struct publish *publish);

/* The second of the latest tick that met the object, or now if threads waited in it; 0: none, or
 * the object is unknown. */
uint32_t publish_used(const struct publish *publish, const struct object_key *key);
/* For walks in user space: the data of an offset's page as BPF sees it, valid until the next call.
 * END_NONE, without data outside functions; END_NO_TABLE: the page is absent. */
uint32_t publish_find_page(
	struct publish *publish, uint32_t object, uint64_t offset, struct bytes *data);
/* The object's enum table_state; TABLE_PENDING if it is unknown. */
uint32_t publish_table(const struct publish *publish, uint32_t object);
/* id is a rule id of page data; 0 is CFA_NONE. */
const struct unwind_rule *publish_rule(const struct publish *publish, uint32_t id);
void publish_stats(const struct publish *publish, struct publish_stats *out);
