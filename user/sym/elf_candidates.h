/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_candidates.h - the symbols of an ELF image that may have a name to give, one a place:
 * from .symtab, .dynsym, the PLT, .gopclntab and another file of the same build. Which they are and
 * which of several wins: sym/elf_sym.h. What they cover is for sym/elf_sym.c. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "elf/symtab.h"
#include "sym/elf_pick.h"
#include "sym/elf_sym.h"

#define ELF_CANDIDATES_SOURCES (ELF_SYM_GO + 1)

enum elf_rank { ELF_RANK_NOTYPE, ELF_RANK_PLT, ELF_RANK_FUNC };

struct elf_candidate {
	uint32_t start; /* file offset; first: what they are sorted by */
	uint32_t end;   /* of an unsized one: the furthest that it can reach */
	uint32_t name;  /* in the strings of its source */
	uint8_t source;
	uint8_t rank; /* enum elf_rank */
	uint8_t bind;
	uint8_t unsized;
};

struct elf_candidates {
	VEC(struct elf_candidate) all; /* by rising start, no two alike */
	struct symtab
		tabs[ELF_CANDIDATES_SOURCES]; /* by source; PLT's and Go's have strings alone */
	struct buf plt_names, go_names;
	size_t symbols; /* that there are; not all are taken */
	uint32_t sources;
	size_t dropped, tables_bad;
};

/* With a pick only those that it takes. *out is zeros, or what the last call left, which is
 * replaced; it lives no longer than the images. -ENOMEM. */
int elf_candidates_collect(struct image *mapped, struct image *extra,
	enum elf_sym_source extra_source, struct elf_pick *pick, struct elf_candidates *out);
void elf_candidates_done(struct elf_candidates *candidates);
/* Without its version. */
struct bytes elf_candidates_name(
	const struct elf_candidates *candidates, const struct elf_candidate *one);
