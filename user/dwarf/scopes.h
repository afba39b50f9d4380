/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/scopes.h - the functions of one unit and what was inlined into them, by address.
 * DWARF 5 §3.3. */
#pragma once

#include "dwarf/dwarf_ranges.h"
#include "dwarf/cover.h"

#define SCOPES_MAX (1U << 22)
#define SCOPES_NONE COVER_NONE
#define SCOPES_UNNAMED UINT32_MAX

struct scope {
	uint32_t parent; /* what it was inlined into; SCOPES_NONE: it is a function of its own */
	uint32_t die;    /* from the unit's start */
	uint32_t call_file, call_line; /* where it was inlined */
	uint32_t name;                 /* the owner's; SCOPES_UNNAMED at first */
};

struct scopes {
	VEC(struct scope) all;
	struct cover cover; /* the innermost scope of each address */
	size_t dropped;     /* over a limit */
};

/* -EBADMSG: damaged; -EFBIG: over 4 GiB; -ENOMEM; -ETIME. *out is the caller's. */
int scopes_read(const struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
	struct dwarf_work *work, struct scopes *out);
void scopes_done(struct scopes *scopes);
size_t scopes_memory(const struct scopes *scopes);
/* May there be functions in it, or what names a function? What is false is skipped whole. */
bool scopes_may_hold(uint16_t tag);
/* Reads the attributes of a DIE that is of no interest, and goes past its children where it says
 * where they end. True: it did. */
bool scopes_pass(const struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, uint64_t start, struct cursor *c);
