/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_pick.h - selects the symbols of a file that are needed to name some places in it.
 * The name of a place depends on symbols that begin before it, so a pick may grow while it reads:
 * feed it all symbols again until it stops growing. Then names in the wanted blocks are the same as
 * with all symbols. */
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
	struct blocks starts; /* every symbol that begins in them is taken; a superset of want */
	struct blocks taken;  /* blocks in which any symbol begins */
	VEC(uint32_t) more_want;
	VEC(uint32_t) more_starts;
	VEC(struct elf_unsized) outside; /* unsized symbols that may reach into a wanted block */
};

int elf_pick_init(struct elf_pick *pick, uint64_t file_bytes);
void elf_pick_done(struct elf_pick *pick);

void elf_pick_want(struct elf_pick *pick, uint64_t offset);
/* Also takes symbols that begin in this block. */
void elf_pick_want_start(struct elf_pick *pick, uint64_t offset);
/* Call it after the wants and before the functions below. */
void elf_pick_begin(struct elf_pick *pick);

/* Feeds a symbol. 1: it is taken; 0: it is not; -ENOMEM */
int elf_pick_takes(struct elf_pick *pick, const struct elf_candidate *one);
/* Requests the symbols that begin here for the next pass. -ENOMEM */
int elf_pick_lacks_start(struct elf_pick *pick, uint32_t offset);
/* Call it after a pass. True: the pick has grown, feed all symbols again. */
bool elf_pick_grow(struct elf_pick *pick);
/* After the last pass: the end of an unsized symbol, which is the next start in an earlier block,
 * even of a symbol that was not taken. */
uint32_t elf_pick_reach(const struct elf_pick *pick, const struct elf_candidate *one);
