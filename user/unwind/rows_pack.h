/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_pack.h - packs rising (file offset, rule id) pairs into pages of rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "unwind/rows.h"

#define ROWS_PAGE_BYTES (1U << ROWS_PAGE_SHIFT)

/* Large, because a page may have a row at each byte: allocate it on the heap, zeroed. */
struct rows_pack {
	VEC(struct unwind_rows_page) pages;
	struct buf data;
	uint32_t rows_len;      /* of the finished pages */
	uint32_t pages_refused; /* see struct unwind_rows_stats */
	uint32_t number;        /* of the open page */
	bool open;
	uint16_t rule; /* the rule since the latest pair; RULE_NONE at first */
	uint32_t len;  /* number of rows in the open page */
	uint16_t at[ROWS_PAGE_BYTES];
	uint16_t rules[ROWS_PAGE_BYTES];
};

void rows_pack_free(struct rows_pack *pack);
DEFINE_CLEANUP(struct rows_pack, rows_pack_free)

/* The rule is valid from offset on, until the next put. Offsets never fall; of two equal ones the
 * later counts. -EFBIG: over UNWIND_ROWS_SPAN_MAX; -ENOMEM. */
int rows_pack_put(struct rows_pack *pack, uint64_t offset, uint16_t rule);
/* Closes the last page. The last put must have been RULE_NONE. -EFBIG: too many pages; -ENOMEM. */
int rows_pack_finish(struct rows_pack *pack);
/* Leaves the pages of these numbers, which rise; one that is missing becomes a page without rows.
 * -ENOMEM */
int rows_pack_pick(struct rows_pack *pack, const uint32_t *numbers, size_t len);
/* -EFBIG: a table of these pages would have them too far apart. */
int rows_pack_fits(const struct rows_pack *pack);
