/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_pick.h - of all symbols of a file those that it takes to name some places in it.
 * What covers a place depends on symbols that begin before it, so a pick may grow by what it has
 * seen: it is shown all symbols again until it does not. Then names of places in the wanted blocks
 * are what they would be with all symbols. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "dwarf/blocks.h"

struct elf_candidate;

struct elf_unsized {
	uint32_t start, end;
};

struct elf_pick {
	struct blocks want;   /* every symbol that reaches into them is taken */
	struct blocks starts; /* and every one that begins in these: the wanted ones and more */
	struct blocks taken;  /* where any symbol begins */
	VEC(uint32_t) more_want;
	VEC(uint32_t) more_starts;
	VEC(struct elf_unsized) outside; /* that may reach into a wanted block */
};

int elf_pick_init(struct elf_pick *pick, uint64_t file_bytes);
void elf_pick_done(struct elf_pick *pick);

void elf_pick_want(struct elf_pick *pick, uint64_t offset);
/* What begins near here is taken too. */
void elf_pick_want_start(struct elf_pick *pick, uint64_t offset);
/* Between these and what follows. */
void elf_pick_begin(struct elf_pick *pick);

/* Shows it a symbol. 1: it is taken; 0; -ENOMEM */
int elf_pick_takes(struct elf_pick *pick, const struct elf_candidate *one);
/* It lacks what begins here, next time it does not. -ENOMEM */
int elf_pick_lacks_start(struct elf_pick *pick, uint32_t offset);
/* All were shown. True: it has grown, all are to be shown again. */
bool elf_pick_grow(struct elf_pick *pick);
/* When it grows no more: of one without a size, where it ends at last, as another one begins in the
 * block before, which may not have been taken. */
uint32_t elf_pick_reach(const struct elf_pick *pick, const struct elf_candidate *one);
