/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming_places.h - collects the places of an interval's frames, and sorts them by owner:
 * part of agent/naming.h, whose naming_view, naming_pays and naming_want are here. */
#pragma once

#include "agent/naming.h"

#define OWNER_KIND_SHIFT 60
#define OWNER(kind, id) ((uint64_t)(kind) << OWNER_KIND_SHIFT | (id))
#define OWNER_ID_MASK ((1ULL << OWNER_KIND_SHIFT) - 1)
#define OWNER_SET_SHIFT 22 /* above an object's id */

static inline uint32_t owner_object(uint64_t owner)
{
	return owner & OBJECT_ID_MAX;
}

static inline uint32_t owner_set(uint64_t owner)
{
	return (uint32_t)((owner & OWNER_ID_MASK) >> OWNER_SET_SHIFT);
}

/* Without the mark of callers. */
static inline uint64_t naming_address(const struct naming_place *place)
{
	bool in_file = place->owner >> OWNER_KIND_SHIFT == FRAME_FILE;

	return in_file ? place->address & ~ELF_SYM_CALLER : place->address;
}

/* Sorts what was wanted, and makes a run for each owner. */
int naming_make_runs(struct naming *naming);
