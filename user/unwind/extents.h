/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/extents.h - the free parts of a range of numbers: first fit, neighbours are joined. */
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
	uint64_t boundary;       /* no extent given reaches across a multiple of it; 0: none */
	uint64_t used;
	uint64_t taken; /* how many were taken and not given back */
};

/* All of [start, start + len) is free. */
int extents_init(struct extents *extents, uint64_t start, uint64_t len, uint64_t boundary);
void extents_done(struct extents *extents);
/* -ENOSPC when no free part is long enough; -ENOMEM. */
int extents_take(struct extents *extents, uint64_t len, uint64_t *start);
/* Is a free part so long? */
bool extents_has(const struct extents *extents, uint64_t len);
/* All of what one call took. Cannot fail: the room to note it was made when it was taken. */
void extents_give(struct extents *extents, uint64_t start, uint64_t len);
