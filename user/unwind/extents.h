/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/extents.h - the free parts of a range of numbers: first fit, freed neighbours are joined.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct extent {
	uint64_t start;
	uint64_t len;
};

struct extents {
	VEC(struct extent) free; /* sorted, disjoint, none across a multiple of boundary */
	uint64_t boundary;       /* no allocated extent crosses a multiple of it; 0: none */
	uint64_t used;
	uint64_t taken; /* number of allocated extents */
};

/* All of [start, start + len) is free. */
int extents_init(struct extents *extents, uint64_t start, uint64_t len, uint64_t boundary);
void extents_done(struct extents *extents);
/* -ENOSPC when no free part is long enough; -ENOMEM. */
int extents_take(struct extents *extents, uint64_t len, uint64_t *start);
/* Is any free part this long? */
bool extents_has(const struct extents *extents, uint64_t len);
/* Frees the whole of one allocation. Cannot fail: its memory was reserved by the allocation. */
void extents_give(struct extents *extents, uint64_t start, uint64_t len);
