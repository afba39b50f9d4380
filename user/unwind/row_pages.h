/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_pages.h - page numbers (a table has one run of them) and page data in slabs.
 * A page's data are written before its place is set, and their memory is reused only after ticks
 * that may have it, so BPF never sees half a page or a foreign one. The caller records the run of
 * each table, and returns a run only when no tick can reach it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "unwind/row_maps.h"
#include "unwind/row_rules.h"

struct row_pages_stats {
	uint64_t rows, bytes;              /* of the loaded pages */
	uint64_t slabs_bytes;              /* total size of all slabs */
	uint64_t loaded, evicted, refused; /* refused: no room */
};

struct row_pages;

/* Who makes room (unwind/publish_shares.c): sets ranks[page] for each page of a table; a page of a
 * higher rank gives before the page that needs room, one of a lower rank does not. Negative: no
 * room is made. */
struct row_pages_order {
	int (*rank)(void *ctx, uint32_t *ranks);
	void *ctx;
};

/* maps and rules must outlive it; *order is copied. */
int row_pages_new(const struct row_maps *maps, struct row_rules *rules,
	const struct row_pages_order *order, struct row_pages **out);
void row_pages_free(struct row_pages *pages);

/* A run of len page numbers, each marked ROWS_PAGE_EMPTY. -ENOSPC, -ENOMEM. */
int row_pages_take(struct row_pages *pages, uint32_t len, uint32_t *base);
/* Is there a free run of this length, and will shares not bind when it is taken? */
bool row_pages_has_room(const struct row_pages *pages, uint32_t len);
/* Marks a page that has rows: with its place if it is loaded, else as absent, so that BPF requests
 * it. */
void row_pages_offer(struct row_pages *pages, uint32_t page);
/* Offers the requested but unanswered pages of a run again. */
void row_pages_offer_asked(struct row_pages *pages, uint32_t base, uint32_t len);
bool row_pages_is_loaded(const struct row_pages *pages, uint32_t page);
/* True: the page contains no function. */
bool row_pages_is_empty(const struct row_pages *pages, uint32_t page);
/* Marks a page that is not loaded as one without functions. */
void row_pages_set_empty(struct row_pages *pages, uint32_t page);
/* Loads a page and offers it. data is in the format of bpf/abi_rows.h with the table's own rule
 * ids; ids[] maps them to shared ids, which the page holds. A loaded page is left alone. Others are
 * evicted to make room: those that were idle for a minute, then those of higher ranks, then idle
 * ones of its own rank. -ENOSPC, -ENOMEM: it stays absent. */
int row_pages_load(struct row_pages *pages, uint32_t page, const struct bytes *data,
	uint32_t rows_len, const uint16_t *ids);
/* The data of a loaded page, valid until the next call; NULL: mapping failed. */
const uint8_t *row_pages_data(struct row_pages *pages, uint32_t page, uint32_t *len);
/* Evicts all loaded pages of a run. */
void row_pages_evict(struct row_pages *pages, uint32_t base, uint32_t len);
/* Bytes of the loaded pages of a run. */
uint64_t row_pages_bytes(const struct row_pages *pages, uint32_t base, uint32_t len);
/* Sets the bit of each rule that a loaded page of a run holds; bits[] has one for each id. */
void row_pages_mark_rules(
	const struct row_pages *pages, uint32_t base, uint32_t len, uint8_t *bits);
/* Frees a run and its loaded pages. No tick may reach it any more. */
void row_pages_give(struct row_pages *pages, uint32_t base, uint32_t len);

/* Unmaps what a batch of calls left mapped. */
void row_pages_unmap(struct row_pages *pages);
void row_pages_stats(const struct row_pages *pages, struct row_pages_stats *out);
