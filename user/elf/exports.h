/* SPDX-License-Identifier: Apache-2.0 */
/* elf/exports.h - finds a name among the symbols that a file exports, by the hash table that the
 * loader uses: a few reads, where a pass over the table is tens of thousands.
 * Source: .gnu.hash as GNU ld writes it (bfd/elflink.c), and where a file has only that, the hash
 * table of the System V gABI, chapter 5, "Hash Table". */
#pragma once

#include <stdbool.h>

#include "elf/image.h"
#include "elf/symtab.h"

struct exports {
	struct symtab symbols;
	struct bytes hash;
	bool is_gnu;
};

/* A view, valid as long as the image. False: the file exports nothing that can be found. */
bool exports_init(struct exports *exports, struct image *image);
/* The first defined symbol of this name. Time is bounded by the number of symbols. */
bool exports_find(const struct exports *exports, const char *name, struct symtab_entry *out);
