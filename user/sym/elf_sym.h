/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_sym.h - the names of one ELF image, by file offset.
 * Built once for all processes that map the file; the image may go away afterwards. Addresses are
 * offsets in the mapped file, so names that come from another file (debug file, .gnu_debugdata) are
 * placed by the mapped file's PT_LOADs.
 *
 * Which symbols: STT_FUNC and STT_GNU_IFUNC in executable segments; STT_NOTYPE in executable
 * sections where no function covers it, but no mapping symbols ($x) and no assembler labels (.L).
 * PLT stubs are `name@plt`. A version (from the first '@') is no part of a name. Of several at one
 * address: function over PLT stub over NOTYPE, sized over unsized, global over weak over local,
 * fewer leading underscores, shorter, alphabetic. A symbol covers its size and no more; one without
 * a size reaches to the next symbol, the end of its section or of the symbol it lies in. Where
 * several cover an address the one that starts last has it.
 *
 * Memory: 12 bytes a range and one block of names. Those of a large file take long to make, and of
 * most files few are ever asked for: so there may be those near some places only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define ELF_SYM_MAX (1U << 22) /* symbols; what is over it is dropped and counted */
#define ELF_SYM_NAMES_BYTES_MAX (1U << 26)
#define ELF_SYM_NAME_MAX 4096 /* a longer name is cut */

enum elf_sym_source {
	ELF_SYM_SYMTAB = 1,
	ELF_SYM_DYNSYM,
	ELF_SYM_DEBUG_FILE,
	ELF_SYM_DEBUG_DATA,
	ELF_SYM_PLT,
	ELF_SYM_GO,  /* .gopclntab, where a Go program is stripped */
	ELF_SYM_R2R, /* of no ELF file: a method that a .NET assembly has compiled (dotnet/r2r.h) */
};

struct elf_name {
	const char *name; /* mangled, as in the file; lives as long as the elf_sym */
	uint64_t start;   /* file offset where the symbol begins */
	enum elf_sym_source source;
};

struct elf_sym_stats {
	size_t symbols;   /* of all tables, which may have a name to give; several at a place too */
	uint32_t sources; /* of those, as bits: 1 << enum elf_sym_source */
	size_t dropped;   /* over a limit */
	size_t tables_bad; /* symbol tables that could not be read */
	size_t memory_bytes;
};

struct elf_sym;

/* From the mapped file's .symtab, .dynsym and PLT and, where extra is not NULL, the .symtab of
 * another file of the same build, which is told as extra_source. No symbols at all is a success
 * with none. -ENOMEM. On success *out is the caller's and needs neither image any more. */
int elf_sym_load(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	struct elf_sym **out);
/* The same near these file offsets, and where `before`, of the same file, knew; it may be NULL. Of
 * one that knows everything comes one that does. */
int elf_sym_pick(struct image *mapped, struct image *extra, enum elf_sym_source extra_source,
	const uint64_t *offsets, size_t len, const struct elf_sym *before, struct elf_sym **out);
void elf_sym_free(struct elf_sym *sym);

/* False: what is there was not picked. */
bool elf_sym_knows(const struct elf_sym *sym, uint64_t file_offset);
/* False: no symbol covers the offset, or it is not known. */
bool elf_sym_find(const struct elf_sym *sym, uint64_t file_offset, struct elf_name *out);
void elf_sym_stats(const struct elf_sym *sym, struct elf_sym_stats *out);
/* "symtab", "dynsym", "debug_file", "debug_data", "plt", "gopclntab", "readytorun" */
const char *elf_sym_source_name(enum elf_sym_source source);
