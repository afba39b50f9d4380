/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/scopes.h - the functions of one unit and the functions inlined into them, by address. DWARF
 * 5 §3.3. */
#pragma once

#include "dwarf/dwarf_ranges.h"
#include "dwarf/cover.h"

#define SCOPES_MAX (1U << 22)
#define SCOPES_NONE COVER_NONE
#define SCOPES_UNNAMED UINT32_MAX

struct scope {
	uint32_t parent; /* the scope it was inlined into; SCOPES_NONE: a real function */
	uint32_t die;    /* from the unit's start */
	uint32_t call_file, call_line; /* place of the inlined call */
	uint32_t name;                 /* used by the owner; SCOPES_UNNAMED at first */
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
/* Can a DIE with this tag contain functions or name one? If false it is skipped with its
 * children. */
bool scopes_may_hold(uint16_t tag);
/* Reads the attributes of a DIE that is not needed, and skips its children if it has their end.
 * True: the children are skipped. */
bool scopes_pass(const struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, uint64_t start, struct cursor *c);
