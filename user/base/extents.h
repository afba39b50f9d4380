/* SPDX-License-Identifier: Apache-2.0 */
/* base/extents.h - which parts of a range of numbers are free: first fit, neighbours joined again.
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"

struct extent {
	uint64_t start;
	uint64_t len;
};

struct extents {
	VEC(struct extent) free; /* sorted, disjoint, none across a multiple of boundary */
	uint64_t boundary;       /* no extent given reaches across a multiple of it; 0: none */
	uint64_t used;
};

/* All of [start, start + len) is free. */
int extents_init(struct extents *extents, uint64_t start, uint64_t len, uint64_t boundary);
void extents_done(struct extents *extents);
/* -ENOSPC when no free part is long enough. */
int extents_take(struct extents *extents, uint64_t len, uint64_t *start);
/* What was taken before. -ENOMEM: it stays taken. */
int extents_give(struct extents *extents, uint64_t start, uint64_t len);
