/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_unit.h - one unit of sym/elf_functions.h: its runs of code of unknown functions, and what
 * they are divided into. Only symbols in the unit, and those that begin in the bytes before it that
 * are read, matter. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "sym/elf_candidates.h"
#include "sym/elf_functions.h"
#include "sym/elf_gap.h"

struct elf_unit {
	struct elf_functions *functions;
	const struct elf_candidates *candidates;
	VEC(uint32_t) reach; /* by candidate: the furthest end of a sized one up to it */
	uint32_t from;       /* the first byte that may be read */
	uint32_t start, end;
	VEC(struct elf_gap) runs; /* in the code that was asked for; by rising start */
	uint8_t *marks;           /* from `from` to `end` */
	size_t lists;             /* lists that were made */
};

/* -ENOMEM. *out is the caller's after a failure too. */
int elf_unit_init(struct elf_functions *functions, const struct elf_candidates *candidates,
	struct elf_unit *out);
void elf_unit_done(struct elf_unit *unit);
/* Fills the runs: those of the unit around the offset that touch the bytes [at, end) of it.
 * -ENOMEM */
int elf_unit_list(struct elf_unit *unit, uint32_t at, uint32_t end);
/* Adds the functions of the runs to those of elf_unit_init(). Call it once after a list. -ENOMEM */
int elf_unit_divide(struct elf_unit *unit);
