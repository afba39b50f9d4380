/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_parts.h - all files with the debugging information of one program: the file with its
 * .debug_info, the file shared with other programs, and the files of its split units. Files that
 * are missing at first can be requested later, one at a time, as they are needed. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/debug_part.h"
#include "dwarf/dwarf_units.h"
#include "dwarf/inlined.h"

#define DWARF_PARTS_MAX 512 /* split files; further ones are ignored */

struct dwarf_parts {
	struct dwarf main, alt;
	VEC(struct dwarf *) splits;
	struct dwarf_units units;
	bool asking;       /* request missing files */
	struct hash asked; /* ids of the requested split units */
	bool package_asked;
	struct debug_part wanted; /* the pending request; DEBUG_PART_NONE: none */
};

/* Like inlined_open; borrowed input must outlive it. On failure parts is as after
 * dwarf_parts_done. */
int dwarf_parts_open(
	struct dwarf_parts *parts, const struct inlined_input *input, struct dwarf_work *work);
void dwarf_parts_done(struct dwarf_parts *parts);

/* The split unit of this one; *out is NULL if it has none or it is unavailable. -EAGAIN: answer
 * parts->wanted first; -EBADMSG, -ENOMEM, -ETIME. */
int dwarf_parts_split(
	struct dwarf_parts *parts, const struct dwarf_unit *unit, struct dwarf_split **out);
/* Answers parts->wanted. image must stay valid; NULL: unavailable. An unreadable file is ignored.
 * -ENOMEM, -ETIME. */
int dwarf_parts_give(struct dwarf_parts *parts, struct image *image, struct dwarf_work *work);
size_t dwarf_parts_memory(const struct dwarf_parts *parts);
