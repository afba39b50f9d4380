/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_sym.h - the names of one ELF image, by file offset.
 * Built once for all processes that map the file; the image is not needed afterwards. Addresses are
 * offsets in the mapped file; symbols of another file (debug file, .gnu_debugdata) are translated
 * by the mapped file's PT_LOADs.
 *
 * Used symbols: STT_FUNC and STT_GNU_IFUNC in executable segments; STT_NOTYPE in executable
 * sections where no function covers it, but no mapping symbols ($x) and no assembler labels (.L).
 * PLT stubs are `name@plt`. A version (from the first '@') is removed. Of several at one address:
 * function over PLT stub over NOTYPE, sized over unsized, global over weak over local, fewer
 * leading underscores, shorter, alphabetic. A symbol covers its size and no more; an unsized one
 * ends with its function (sym/elf_functions.h), the symbol around it or its section, and at the
 * next symbol; in code without FDEs it does not count within a sized one. Where several cover an
 * address, the one that starts last wins.
 *
 * Memory: 12 bytes a range, 12 bytes a function that no symbol covers, and one block of names. All
 * names of a large file take long to build, and most files need few of them, so a table may be
 * limited to some places. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define ELF_SYM_MAX (1U << 22) /* symbols; further ones are dropped and counted */
#define ELF_SYM_NAMES_BYTES_MAX (1U << 26)
#define ELF_SYM_NAME_MAX 4096 /* longer names are cut */
/* With an offset: it is a return address minus one. If no call pushed that, as on a coroutine's
 * first frame or a signal's, it is a function's first byte: where nothing covers the offset, the
 * function that begins after it is meant. */
#define ELF_SYM_CALLER (1ULL << 63)

enum elf_sym_source {
	ELF_SYM_SYMTAB = 1,
	ELF_SYM_DYNSYM,
	ELF_SYM_DEBUG_FILE,
	ELF_SYM_DEBUG_DATA,
	ELF_SYM_PLT,
	ELF_SYM_GO,  /* .gopclntab of a stripped Go program */
	ELF_SYM_R2R, /* not ELF: a precompiled method of a .NET assembly (dotnet/r2r.h) */
};

struct elf_name {
	const char *name; /* mangled, as in the file; valid as long as the elf_sym */
	uint64_t start;   /* file offset of the symbol */
	enum elf_sym_source source;
};

struct elf_sym_stats {
	size_t symbols;    /* of all tables that may give a name, including duplicates */
	uint32_t sources;  /* 1 << enum elf_sym_source, of the symbols */
	size_t functions;  /* without a symbol for all of their bytes */
	size_t dropped;    /* over a limit */
	size_t tables_bad; /* unreadable symbol tables */
	size_t memory_bytes;
};

struct elf_sym;

/* Reads the mapped file's .symtab, .dynsym and PLT and, if extra is not NULL, the .symtab of
 * another file of the same build, reported as extra_source. No symbols is a success. -ENOMEM. On
 * success *out is the caller's and no longer needs the images. */
int elf_sym_load(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	struct elf_sym **out);

struct elf_sym_query {
	const uint64_t *offsets; /* in the file, with ELF_SYM_CALLER or without */
	size_t len;
	const struct elf_sym *before; /* of the same file, whose answers stay known; NULL */
	bool whole; /* all symbols; only the division of code is limited to the offsets */
};

/* The same, limited to what the query needs. */
int elf_sym_pick(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	const struct elf_sym_query *query, struct elf_sym **out);
void elf_sym_free(struct elf_sym *sym);

/* False: the symbols at this offset are not loaded. Offsets may have ELF_SYM_CALLER here, too. */
bool elf_sym_knows(const struct elf_sym *sym, uint64_t file_offset);
/* False: no symbol covers the offset, or it is not loaded. */
bool elf_sym_find(const struct elf_sym *sym, uint64_t file_offset, struct elf_name *out);
/* Where no symbol covers the offset: the file offset at which its function starts. False: unknown,
 * or not loaded. */
bool elf_sym_find_start(const struct elf_sym *sym, uint64_t file_offset, uint64_t *start);
void elf_sym_stats(const struct elf_sym *sym, struct elf_sym_stats *out);
