/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/cover.h - resolves overlapping ranges: each address belongs to the deepest range, at equal
 * depth to the smallest number. Built once in n log n for any input, then queried by binary
 * search. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define COVER_NONE UINT32_MAX

struct cover_range {
	uint64_t start, end;
	uint32_t depth;
	uint32_t owner; /* not COVER_NONE */
};

struct cover_piece {
	uint32_t start; /* relative to base; extends to the next one */
	uint32_t owner;
};

struct cover {
	uint64_t base;
	VEC(struct cover_piece) pieces;
};

/* Sorts ranges. Addresses 4 GiB or more after the first start are left out. -ENOMEM. */
int cover_make(struct cover_range *ranges, size_t len, struct cover *out);
void cover_done(struct cover *cover);
uint32_t cover_find(const struct cover *cover, uint64_t address);
