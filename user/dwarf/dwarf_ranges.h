/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_ranges.h - the address ranges of a DIE. DWARF 5 §2.17, §2.17.3, §7.25; DWARF 4
 * §2.17.3. */
#pragma once

#include "base/vec.h"
#include "dwarf/dwarf_unit.h"

struct dwarf_range {
	uint64_t start, end; /* start < end */
};

struct dwarf_ranges {
	VEC(struct dwarf_range) all;
};

/* Appends the ranges that a DIE's attributes low_pc, high_pc and ranges give, maybe none. Code that
 * the linker dropped is left out; its address is 0, 1 or one of the highest.
 * -EBADMSG: a list without an end; -ENOMEM; -ETIME. */
int dwarf_ranges_read(const struct dwarf_unit *unit, const struct dwarf_value *low_pc,
	const struct dwarf_value *high_pc, const struct dwarf_value *ranges,
	struct dwarf_work *work, struct dwarf_ranges *out);
