/* SPDX-License-Identifier: Apache-2.0 */
/* elf/gopclntab.h - the function table of a Go program, which Go uses for its own tracebacks and
 * which stripping leaves in. It is read in place: nothing is allocated, and the image must outlive
 * it. A function covers all addresses up to the next entry. Names are Go's own
 * (`net/http.(*conn).serve`); inlined functions are not in the table. Layouts of Go 1.2, 1.16,
 * 1.18, and 1.20 and later (1.26 too, which stores the start of text elsewhere).
 * Source: Go's src/debug/gosym/pclntab.go and src/runtime/symtab.go; of the stack deltas
 * src/cmd/internal/obj/pcln.go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define GOPCLNTAB_FUNCTIONS_MAX (1U << 22)
#define GOPCLNTAB_NAME_MAX 8192 /* longest name of a function or file; a longer one is damage */

struct gopclntab {
	struct bytes table;
	bool swap;            /* the file has the other byte order */
	unsigned int version; /* 102, 116, 118 or 120 */
	uint8_t quantum;      /* alignment of instructions in bytes */
	uint8_t pointer_size;
	uint64_t vaddr; /* of the table */
	uint64_t text;  /* base of entries; 0 before 1.18 */
	size_t functions_len;
	size_t functab, funcs, names, pctab; /* offsets in the table */
};

/* Flags of a function, since Go 1.17; 0 before. */
#define GOPCLNTAB_TOP_FRAME 1 /* tracebacks end here */
#define GOPCLNTAB_SP_WRITE 2  /* moves the stack pointer in ways that the deltas do not show */

struct gopclntab_function {
	uint64_t start; /* vaddr */
	uint64_t end;
	const char *name; /* valid as long as the image */
	uint32_t deltas;  /* for gopclntab_deltas() */
	uint8_t flags;
};

/* Iterates over the runs of addresses with equal stack delta: the number of bytes by which the
 * stack pointer is below its value at the function's entry. */
struct gopclntab_deltas {
	struct cursor cursor;
	uint64_t at; /* start of the next run */
	uint64_t end;
	uint32_t value;
	uint8_t quantum;
	bool begun;
};

/* Finds the table by its section's name or by its magic: in .data.rel.ro, or in the whole file if
 * there are no section headers. -ENOENT: not a Go program, or older than Go 1.2; -EBADMSG: the
 * table points outside itself, or its text cannot be found; -ENOMEM: no memory to decompress a
 * section. */
int gopclntab_init(struct gopclntab *tab, struct image *image);

/* False: the entry is invalid (others may be valid); i < functions_len. Functions are in file
 * order, which is by address unless the file was tampered with. */
bool gopclntab_get(const struct gopclntab *tab, size_t i, struct gopclntab_function *out);
/* The function's stack deltas, from its start on; empty for a function that is not Go's. */
struct gopclntab_deltas gopclntab_deltas(
	const struct gopclntab *tab, const struct gopclntab_function *f);
/* The next run. It begins where the previous one ended, is not empty, and ends within the function.
 * False: no more. */
bool gopclntab_deltas_next(struct gopclntab_deltas *runs, uint64_t *end, int32_t *delta);
