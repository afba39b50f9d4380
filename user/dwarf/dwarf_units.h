/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_units.h - finds a unit by its offset in .debug_info: units of a file, of the file
 * that it shares with others (dwz), and of its split files. A few parsed units are cached. */
#pragma once

#include "base/vec.h"
#include "dwarf/dwarf_unit.h"

#define DWARF_UNITS_READY_MAX 32

/* A namespace or type: the offset of its DIE, and of its end. */
struct dwarf_container {
	uint64_t start, end;
	uint32_t parent; /* index, or UINT32_MAX */
	bool type;       /* a type; else a namespace */
};

struct dwarf_units_entry {
	struct dwarf_unit unit;
	struct dwarf_abbrevs abbrevs;
	VEC(struct dwarf_container) containers; /* sorted by start */
	bool containers_read;
	uint64_t used; /* 0: free */
};

/* A unit of a split file. */
struct dwarf_split {
	uint64_t id; /* id in its skeleton */
	const struct dwarf *dwarf;
	uint64_t start, end;
	uint64_t skeleton; /* the skeleton's offset in .debug_info; UINT64_MAX: unknown */
	struct bytes sections[DWARF_SECTIONS]; /* the unit's parts of the sections */
};

struct dwarf_unit_list {
	const struct dwarf *dwarf;
	VEC(uint64_t) starts; /* sorted */
};

struct dwarf_units {
	struct dwarf_unit_list main, alt;
	VEC(struct dwarf_split) splits; /* sorted by file and start after dwarf_splits_settle */
	struct hash splits_by_id;
	struct dwarf_units_entry ready[DWARF_UNITS_READY_MAX];
	uint64_t clock;
};

/* Lists the units of main and of its alt. dwarf_splits_add adds those of split files.
 * -ENOMEM, -ETIME. main, and all images, must outlive it. */
int dwarf_units_init(struct dwarf_units *units, const struct dwarf *main, struct dwarf_work *work);
/* The same for an alt that main got later. */
int dwarf_units_list_alt(
	struct dwarf_units *units, const struct dwarf *main, struct dwarf_work *work);
void dwarf_units_done(struct dwarf_units *units);

/* The unit that contains an offset of a file's .debug_info; valid until the next call.
 * -ENOENT: none; -EBADMSG: it is damaged; -ENOMEM; -ETIME. */
int dwarf_units_get(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset,
	struct dwarf_work *work, struct dwarf_units_entry **out);
size_t dwarf_units_memory(const struct dwarf_units *units);

/* Adds the units of a .dwo or .dwp file. A damaged one adds none. -ENOMEM, -ETIME. */
int dwarf_splits_add(struct dwarf_units *units, const struct dwarf *dwarf, struct dwarf_work *work);
/* Call it after the last dwarf_splits_add. -ENOMEM */
int dwarf_splits_settle(struct dwarf_units *units);
/* NULL: no split file has this id. */
struct dwarf_split *dwarf_splits_find(struct dwarf_units *units, uint64_t id);
struct dwarf_split *dwarf_splits_at(
	struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset);
