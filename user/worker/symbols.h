/* SPDX-License-Identifier: Apache-2.0 */
/* worker/symbols.h - what a worker keeps of one object, an ELF file or a .NET assembly: its symbols
 * and, where lines were asked for and there is debugging information, the files that hold it, of
 * which as much is read as the addresses take that are asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "sym/elf_sym.h"
#include "dwarf/inlined.h"
#include "dotnet/r2r.h"
#include "worker/elf_file.h"

#define SYMBOLS_LINES_BYTES_MAX (32UL << 20) /* that lines of one object may take */

struct symbols {
	struct elf_sym *sym;    /* NULL: it is an assembly */
	struct r2r *methods;    /* NULL: it is none, or has no compiled code */
	struct elf_file *files; /* the mapped one and its debug file; NULL: there are no lines */
	unsigned int picks;     /* how often some of sym was made */
	size_t dwarf;           /* which of them has the debugging information */
	struct inlined *inlined;
	VEC(struct elf_file *) parts; /* that the debugging information refers to */
	uint8_t opened;    /* how often it was tried, which is left to the first question */
	uint64_t until_ns; /* CLOCK_MONOTONIC: when a question about lines is given up */
};

/* Takes both. -ENOMEM: they are freed. *out is the caller's. */
int symbols_new(struct elf_sym *sym, struct r2r *methods, struct symbols **out);
void symbols_free(struct symbols *symbols);

/* Takes the files, if one of them has debugging information, and leaves empty ones. No memory: no
 * lines. */
void symbols_take_files(struct symbols *symbols, struct elf_file *mapped, struct elf_file *debug);

/* As elf_sym_knows */
bool symbols_know(const struct symbols *symbols, uint64_t file_offset);
/* As elf_sym_find; the name lives until the next call. */
bool symbols_find(const struct symbols *symbols, uint64_t file_offset, struct elf_name *out);
/* As inlined_find; a negative is INLINED_NONE too. */
enum inlined_result symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out);
/* What is missing and may be had; of kind DEBUG_PART_NONE: nothing. */
const struct debug_part *symbols_wanted(const struct symbols *symbols);
/* The answer to that; the descriptor stays the caller's; -1: it is not to be had. */
void symbols_give(struct symbols *symbols, int fd);
/* Between requests: gives back the memory that only mirrors the files. */
void symbols_rest(struct symbols *symbols);
size_t symbols_memory(const struct symbols *symbols);
