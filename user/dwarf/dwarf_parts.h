/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_parts.h - all files that hold the debugging information of one program: the one with
 * its .debug_info, the one that it shares with others, those of its split units. Those that are not
 * given at the beginning can be asked for, one at a time, as they are needed. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/debug_part.h"
#include "dwarf/dwarf_units.h"
#include "dwarf/inlined.h"

#define DWARF_PARTS_MAX 512 /* split files; more are done without */

struct dwarf_parts {
	struct dwarf main, alt;
	VEC(struct dwarf *) splits;
	struct dwarf_units units;
	bool asking;       /* for what is missing */
	struct hash asked; /* ids of split units that were asked for */
	bool package_asked;
	struct debug_part wanted; /* DEBUG_PART_NONE: nothing */
};

/* As inlined_open; what the input borrows must stay. On failure parts is as after done. */
int dwarf_parts_open(
	struct dwarf_parts *parts, const struct inlined_input *input, struct dwarf_work *work);
void dwarf_parts_done(struct dwarf_parts *parts);

/* The split unit of this one; *out is NULL where it has none, or none that can be had. -EAGAIN:
 * parts->wanted is to be given first; -EBADMSG, -ENOMEM, -ETIME. */
int dwarf_parts_split(
	struct dwarf_parts *parts, const struct dwarf_unit *unit, struct dwarf_split **out);
/* Answers parts->wanted; image, which must stay, is NULL where it cannot be had. One that cannot be
 * read is done without. -ENOMEM, -ETIME. */
int dwarf_parts_give(struct dwarf_parts *parts, struct image *image, struct dwarf_work *work);
size_t dwarf_parts_memory(const struct dwarf_parts *parts);
