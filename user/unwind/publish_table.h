/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish_table.h - the tables of unwind/publish.h: publish.c changes them, and
 * publish_pages.c loads their pages. */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "base/share.h"
#include "base/vec.h"
#include "unwind/publish.h"
#include "unwind/row_pages.h"
#include "unwind/row_rules.h"

/* The object's entry in the map is to say: */
enum goal {
	GOAL_STATE, /* the table's state */
	GOAL_NONE,  /* no table; a present one is taken back first */
	GOAL_GONE,  /* nothing: the entry is deleted, then the table is freed */
};

#define TABLE_PAYERS_MAX 16 /* what more accounts use is charged to the first of them */

struct table {
	struct publish_object object;
	uint64_t payers[TABLE_PAYERS_MAX];
	uint32_t payers_len;
	uint64_t waited; /* number of the latest charged interval in which threads waited in it */
	uint32_t state; /* enum table_state */
	enum goal goal;
	bool unsettled;                            /* the map does not say so yet */
	uint32_t page_base, page_first, pages_len; /* READY alone has pages */
	uint32_t language;       /* index in the map of languages; 0: none */
	uint64_t language_payer; /* account */
	uint32_t refused_len; /* NONE for want of so many pages; 0: for another reason */
	uint64_t contents;    /* hash of the rows */
	bool paged;           /* pages are compiled one by one */
	void *kept;           /* rows to load pages from; NULL: there are none */
	uint64_t kept_bytes;
	struct unwind_rows_view view; /* points into kept */
	uint16_t *ids;                /* shared rule ids of the kept rows, which it holds */
};

struct publish {
	struct row_maps maps;
	struct row_pages *pages;
	struct row_rules rules;
	VEC(struct table) tables;
	struct hash by_object;
	uint64_t charges; /* intervals that were charged */
	uint64_t waited_gone;
	uint64_t ready, kept_bytes, tables_refused, tables_evicted;
	uint64_t languages[LANGUAGES_MAX / 64]; /* bits of those in use */
	struct share languages_held;
	uint64_t languages_refused;
};

/* The object's table, a new one if it has none. NULL: out of memory. */
struct table *publish_table_of(struct publish *publish, const struct object_key *key, uint32_t id);
/* NULL: none has this id. */
struct table *publish_find_table(const struct publish *publish, uint32_t id);
/* Takes a table back to make room: its object has none until there is room again. Negative: the map
 * could not be updated, and it stays. */
int publish_take_back(struct publish *publish, struct table *table);
void publish_drop_kept(struct publish *publish, struct table *table);

void publish_give_language(struct publish *publish, struct table *table);

/* publish_shares.c: room for a table's page numbers, taken from tables that give before it, and for
 * rows to keep and rules that one needs. -ENOSPC: none gives, or -errno of a map. Pointers to
 * tables are old after the first. */
int publish_make_room(struct publish *publish, uint32_t id, uint32_t numbers);
int publish_make_room_to_keep(struct publish *publish, const struct table *needs, uint64_t bytes);
void publish_make_room_for_rules(struct publish *publish, const struct table *needs,
	const struct unwind_rule *rules, uint32_t len);
/* For row_pages. */
int publish_rank_pages(void *ctx, uint32_t *ranks);

/* Loads page i of the view; ids[] has the shared ids of its rules. */
int publish_load_page(struct publish *publish, const struct table *table,
	const struct unwind_rows_view *view, uint32_t i, const uint16_t *ids);
