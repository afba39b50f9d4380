/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/cover.h - ranges that overlap → who has an address: the deepest range, of equally deep ones
 * the one with the smallest number. Made once, in n log n whatever the ranges are, and then asked
 * by binary search. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define COVER_NONE UINT32_MAX

struct cover_range {
	uint64_t start, end;
	uint32_t depth;
	uint32_t who; /* not COVER_NONE */
};

struct cover_piece {
	uint32_t start; /* from base; reaches to the next one */
	uint32_t who;
};

struct cover {
	uint64_t base;
	VEC(struct cover_piece) pieces;
};

/* Sorts ranges. What lies 4 GiB or more behind the first start is left out. -ENOMEM. */
int cover_make(struct cover_range *ranges, size_t len, struct cover *out);
void cover_done(struct cover *cover);
uint32_t cover_find(const struct cover *cover, uint64_t address);
