/* SPDX-License-Identifier: Apache-2.0 */
/* elf/symtab.h - the entries of one symbol table section, read in place.
 * Source: System V gABI, chapter 4, "Symbol Table" and "String Table". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/image.h"

/* Whoever reads a whole table calls image_pass() after so many: they have 192 KiB, and names. */
#define SYMTAB_PER_PASS 8192

struct symtab {
	struct bytes entries;
	struct bytes strings;
	bool narrow; /* Elf32_Sym */
	size_t len;  /* number of whole entries in the bytes, whatever the section claims */
};

struct symtab_entry {
	uint64_t value; /* vaddr */
	uint64_t size;
	uint32_t name; /* for symtab_name() */
	uint16_t section;
	uint8_t type; /* STT_* */
	uint8_t bind; /* STB_* */
};

/* A view of a SHT_SYMTAB or SHT_DYNSYM section, valid as long as the image. -EBADMSG: wrong size of
 * entries, or no string table at sh_link; else as image_section_bytes(). */
int symtab_init(struct symtab *tab, struct image *image, const struct image_section *section);
/* False beyond the last entry. */
bool symtab_get(const struct symtab *tab, size_t index, struct symtab_entry *out);
/* The name without its NUL, cut at len_max bytes; empty if it is outside the strings. */
struct bytes symtab_name(const struct symtab *tab, uint32_t name, size_t len_max);
