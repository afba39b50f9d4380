/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_pages.h - page numbers (a table has one run of them) and the pages' bytes in slabs.
 * A page's bytes are written before its place is set, and are given to another page only after a
 * grace period, so BPF never sees half a page, nor another one's. Which table has which run is the
 * caller's matter, and so is that no tick can reach a run any more when it is given back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "unwind/row_maps.h"

struct row_pages_stats {
	uint64_t rows, bytes;              /* of the pages that are loaded */
	uint64_t slabs_bytes;              /* all that there is */
	uint64_t loaded, evicted, refused; /* refused: there was no room */
};

struct row_pages;

/* maps must outlive it. */
int row_pages_new(const struct row_maps *maps, struct row_pages **out);
void row_pages_free(struct row_pages *pages);

/* A run of len page numbers, each marked ROWS_PAGE_EMPTY. -ENOSPC, -ENOMEM. */
int row_pages_take(struct row_pages *pages, uint32_t len, uint32_t *base);
/* Is there a free run of so many? */
bool row_pages_has_room(const struct row_pages *pages, uint32_t len);
/* Marks a page that has rows: with its place if it is loaded, else as absent, so that BPF asks for
 * it. */
void row_pages_offer(struct row_pages *pages, uint32_t page);
/* Offers those pages of a run that BPF has asked for and that did not come. */
void row_pages_offer_asked(struct row_pages *pages, uint32_t base, uint32_t len);
bool row_pages_is_loaded(const struct row_pages *pages, uint32_t page);
/* True: no function is in the page. */
bool row_pages_is_empty(const struct row_pages *pages, uint32_t page);
/* Loads a page and offers it: data as bpf/abi_rows.h says, with the table's own rule ids, for which
 * ids[] has the shared ones. A page that is loaded stays as it is. Idle pages are evicted to make
 * room. -ENOSPC, -ENOMEM: it stays absent. */
int row_pages_load(struct row_pages *pages, uint32_t page, const struct bytes *data,
	uint32_t rows_len, const uint16_t *ids);
/* The bytes of a page that is loaded, good until the next call; NULL: they cannot be mapped. */
const uint8_t *row_pages_data(struct row_pages *pages, uint32_t page, uint32_t *len);
/* Frees a run, with all that is loaded in it. No tick can be in it any more. */
void row_pages_give(struct row_pages *pages, uint32_t base, uint32_t len);

/* Unmaps what was mapped for a batch. */
void row_pages_rest(struct row_pages *pages);
void row_pages_stats(const struct row_pages *pages, struct row_pages_stats *out);
