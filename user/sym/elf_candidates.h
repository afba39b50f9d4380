/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_candidates.h - the symbols of an ELF image that may name code, one an address: from
 * .symtab, .dynsym, the PLT, .gopclntab and another file of the same build. sym/elf_sym.h has the
 * rules which are used and which wins; sym/elf_sym.c decides what each covers. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "elf/symtab.h"
#include "sym/elf_functions.h"
#include "sym/elf_pick.h"
#include "sym/elf_sym.h"

#define ELF_CANDIDATES_SOURCES (ELF_SYM_GO + 1)

enum elf_rank { ELF_RANK_NOTYPE, ELF_RANK_PLT, ELF_RANK_FUNC };

struct elf_candidate {
	uint32_t start; /* file offset; must be first: the sort key */
	uint32_t end;   /* of an unsized symbol: its furthest possible end */
	uint32_t name;  /* offset in the strings of its source */
	uint8_t source;
	uint8_t rank; /* enum elf_rank */
	uint8_t bind;
	bool unsized;
	bool loose; /* unsized, in code without an FDE: it names the function that begins here */
};

struct elf_candidates {
	VEC(struct elf_candidate) all; /* by rising start, without duplicates */
	struct symtab
		tabs[ELF_CANDIDATES_SOURCES]; /* by source; the PLT's and Go's have strings only */
	struct buf plt_names, go_names;
	size_t symbols; /* total, including unused ones */
	uint32_t sources;
	size_t dropped, tables_bad;
};

/* The end of an unsized symbol is limited by FDEs. With a pick only the symbols that it takes.
 * *out is zeroed or the result of an earlier call, which is replaced; the images must outlive it.
 * -ENOMEM. */
int elf_candidates_collect(struct image *mapped, struct image *extra,
	enum elf_sym_source extra_source, struct elf_functions *functions, struct elf_pick *pick,
	struct elf_candidates *out);
void elf_candidates_done(struct elf_candidates *candidates);
/* The name without its version. */
struct bytes elf_candidates_name(
	const struct elf_candidates *candidates, const struct elf_candidate *one);
