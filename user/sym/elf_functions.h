/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_functions.h - the starts of the functions of an ELF image, by file offset, without names.
 * A function is the range of an .eh_frame FDE. Code that neither an FDE nor a sized symbol covers
 * is divided by its instructions: a function begins at an unsized symbol, at the target of a direct
 * call from nearby, and after the end of another. It ends at the next beginning, or at a return,
 * trap or jump after which nothing is reached by a branch of the same function, padding or not. So
 * it may end early, but does not reach into the next one.
 *
 * Code is divided only where it is asked for, a unit at a time. Instructions are read from the last
 * padding or symbol before the unit, but from ELF_FUNCTIONS_BEFORE bytes before it at most: a
 * function that began further away begins again there. x86-64 and arm64; of other machines FDEs
 * alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "dwarf/blocks.h"
#include "elf/image.h"
#include "sym/elf_frames.h"

struct elf_candidates;
struct elf_pick;

#define ELF_FUNCTIONS_UNIT (1U << 11) /* bytes; a multiple of a block */
#define ELF_FUNCTIONS_BEFORE (1U << 13)
#define ELF_FUNCTIONS_UNITS_MAX (1U << 13) /* divided at once; further ones are counted */

struct elf_function {
	uint32_t at, end; /* file offsets; at must be first: the sort key */
	uint32_t start; /* of its function, mostly `at`; before it if it is cut, one after it if it
			 * is a signal trampoline */
};

struct elf_functions {
	const struct image *image;
	struct elf_frames frames;
	VEC(struct elf_range) code;   /* executable ranges of the file: sorted, disjoint */
	VEC(struct elf_function) all; /* sorted, disjoint */
	size_t units;                 /* units that were divided */
	size_t dropped;               /* FDEs and units over a limit */
};

/* -ENOMEM. *out is zeroed or owned by the caller after a failure too. The image must outlive it. */
int elf_functions_open(struct image *image, struct elf_functions *out);
void elf_functions_done(struct elf_functions *functions);

/* Is code here divided, unless an FDE or a sized symbol covers it? */
bool elf_functions_divides(const struct elf_functions *functions, uint32_t offset);
/* Makes the pick take the symbols that the division of its wanted blocks depends on, except in
 * `known` blocks, which are sorted numbers. 1: the pick has grown; 0: it has not; -ENOMEM */
int elf_functions_want(struct elf_functions *functions, const struct elf_candidates *candidates,
	const uint32_t *known, size_t known_len, struct elf_pick *pick);
/* Fills `all`: functions of FDEs, everywhere or in wanted blocks, and of the units around the
 * wanted blocks that are not known. want NULL: everywhere. -ENOMEM */
int elf_functions_list(struct elf_functions *functions, const struct elf_candidates *candidates,
	const uint32_t *known, size_t known_len, const struct blocks *want, bool all_frames);

/* The function at this offset; NULL. */
const struct elf_function *elf_functions_find(
	const struct elf_function *all, size_t len, uint64_t offset);
