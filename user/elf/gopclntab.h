/* SPDX-License-Identifier: Apache-2.0 */
/* elf/gopclntab.h - the function table that every Go program carries for its own tracebacks, and
 * that stripping leaves in. It is read where it lies: nothing is allocated, and the image outlives
 * it. A function covers all up to the next one's entry. Names are Go's own
 * (`net/http.(*conn).serve`), and inlined functions have no place in the table. Layouts of
 * Go 1.2, 1.16, 1.18 and 1.20 and later (1.26 too, which keeps where the text begins elsewhere).
 * Source: Go's src/debug/gosym/pclntab.go and src/runtime/symtab.go; of the stack deltas
 * src/cmd/internal/obj/pcln.go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define GOPCLNTAB_FUNCTIONS_MAX (1U << 22)
#define GOPCLNTAB_NAME_MAX 8192 /* of a function or file; a longer one makes no sense */

struct gopclntab {
	struct bytes table;
	bool swap;            /* the file is of the other byte order */
	unsigned int version; /* 102, 116, 118 or 120 */
	uint8_t quantum;      /* bytes an instruction begins on a multiple of */
	uint8_t pointer_size;
	uint64_t vaddr; /* of the table */
	uint64_t text;  /* what entries count from; 0 before 1.18 */
	size_t functions_len;
	size_t functab, funcs, names, pctab, cutab, filetab; /* offsets in the table */
};

/* Flags of a function, from Go 1.17 on; before, none are set. */
#define GOPCLNTAB_TOP_FRAME 1 /* tracebacks end here */
#define GOPCLNTAB_SP_WRITE 2  /* moves the stack pointer in ways that its deltas do not tell */

struct gopclntab_function {
	uint64_t start; /* vaddr */
	uint64_t end;
	const char *name; /* lives as long as the image */
	uint32_t deltas;  /* for gopclntab_deltas() */
	uint8_t flags;
};

/* A walk over the runs of addresses with one stack delta: by how many bytes the stack pointer lies
 * below where it was at the function's entry. */
struct gopclntab_deltas {
	struct cursor cursor;
	uint64_t at; /* where the next run begins */
	uint64_t end;
	uint32_t value;
	uint8_t quantum;
	bool begun;
};

/* Finds the table by its section's name or by its magic: in .data.rel.ro, and everywhere where
 * there are no section headers. -ENOENT: no Go program, or one from before Go 1.2; -EBADMSG: a
 * table that leads out of itself, or whose text cannot be found. -ENOMEM when a section does not
 * decompress for want of it. */
int gopclntab_init(struct gopclntab *tab, struct image *image);

/* False: the entry makes no sense (others may); i < functions_len. Functions come in the order of
 * the file, which is that of addresses unless somebody tampered with it. */
bool gopclntab_get(const struct gopclntab *tab, size_t i, struct gopclntab_function *out);
/* The last function whose start is not above vaddr; false when none covers it. */
bool gopclntab_find(const struct gopclntab *tab, uint64_t vaddr, struct gopclntab_function *out);
/* File and line of the instruction at vaddr (for a return address: minus one). False: not told. */
bool gopclntab_line(const struct gopclntab *tab, uint64_t vaddr, const char **file, uint32_t *line);
/* The function's stack deltas, from its start on; none of a function that is not Go's. */
struct gopclntab_deltas gopclntab_deltas(
	const struct gopclntab *tab, const struct gopclntab_function *f);
/* The next run: it begins where the one before ended, which moves on with each, and ends within the
 * function. False: no more. */
bool gopclntab_deltas_next(struct gopclntab_deltas *runs, uint64_t *end, int32_t *delta);
