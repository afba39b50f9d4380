/* SPDX-License-Identifier: Apache-2.0 */
/* worker/symbols.h - a worker's data of one object, an ELF file or a .NET assembly: its symbols
 * and, if lines are requested and there is debugging information, the files with it. They are read
 * only as far as the queried addresses need. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "sym/elf_sym.h"
#include "dwarf/inlined.h"
#include "dotnet/r2r.h"
#include "worker/elf_file.h"

#define SYMBOLS_LINES_BYTES_MAX (32UL << 20) /* limit of an object's lines */

struct symbols {
	struct elf_sym *sym;    /* NULL: an assembly */
	struct r2r *methods;    /* NULL: not an assembly, or without compiled code */
	struct elf_file *files; /* the mapped one and its debug file; NULL: no lines */
	unsigned int picks;     /* number of partial loads of sym */
	size_t dwarf;           /* index of the one with debugging information */
	struct inlined *inlined;
	VEC(struct elf_file *) parts; /* further files of the debugging information */
	uint8_t opened;    /* number of tries to open lines, which the first query does */
	uint64_t until_ns; /* CLOCK_MONOTONIC: deadline of a query for lines */
};

/* Takes both. -ENOMEM: they are freed. *out is the caller's. */
int symbols_new(struct elf_sym *sym, struct r2r *methods, struct symbols **out);
void symbols_free(struct symbols *symbols);

/* Takes the files, if one has debugging information, and leaves empty ones. No memory: no lines. */
void symbols_take_files(struct symbols *symbols, struct elf_file *mapped, struct elf_file *debug);

/* Like elf_sym_knows */
bool symbols_know(const struct symbols *symbols, uint64_t file_offset);
/* Like elf_sym_find; the name is valid until the next call. "": of the function only the start is
 * known. */
bool symbols_find(const struct symbols *symbols, uint64_t file_offset, struct elf_name *out);
/* Like inlined_find, by an offset as above; an error becomes INLINED_NONE. */
enum inlined_result symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out);
/* The missing file to request; kind DEBUG_PART_NONE: none. */
const struct debug_part *symbols_wanted(const struct symbols *symbols);
/* Answers the request; the caller keeps the descriptor; -1: unavailable. */
void symbols_give(struct symbols *symbols, int fd);
/* Call it between requests: releases memory that only mirrors the files. */
void symbols_release(struct symbols *symbols);
size_t symbols_memory(const struct symbols *symbols);
