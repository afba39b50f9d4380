/* SPDX-License-Identifier: Apache-2.0 */
/* make_elf_symbols.h - symbol tables for the file of make_elf.h. */
#pragma once

#include "make_elf.h"

#define MAKE_ELF_TEXT_INDEX 1
#define MAKE_ELF_DATA_INDEX 2

/* vaddr counts from MAKE_ELF_TEXT_VADDR. */
static inline void make_elf_symbol(struct make_elf *m, const char *name, unsigned char info,
	Elf64_Section section, Elf64_Addr at, Elf64_Xword size)
{
	Elf64_Sym sym = { .st_name = (Elf64_Word)m->strings.len,
		.st_info = info,
		.st_shndx = section,
		.st_value = MAKE_ELF_TEXT_VADDR + at,
		.st_size = size };

	buf_put(&m->strings, name, strlen(name) + 1);
	buf_put(&m->symbols, &sym, sizeof(sym));
}

/* A hash table of one bucket, which has so many symbols. */
static inline void make_elf_hash(struct make_elf *m, uint32_t symbols)
{
	uint32_t head[] = { 1, symbols, symbols > 1 };
	unsigned int index = make_elf_section(m, ".hash", SHT_HASH, 0, head, sizeof(head));

	for (uint32_t i = 0; i < symbols; i++) {
		uint32_t next = i > 0 && i + 1 < symbols ? i + 1 : 0;

		buf_put(&m->file, &next, sizeof(next));
		m->sections[index].sh_size += sizeof(next);
	}
}

/* Writes the symbols gathered so far as a table of this name and type, and forgets them. What a
 * file exports has a hash table, too. */
static inline unsigned int make_elf_symtab(struct make_elf *m, const char *name, Elf64_Word type)
{
	unsigned int index = make_elf_section(m, name, type, 0, m->symbols.data, m->symbols.len);
	unsigned int strings =
		make_elf_section(m, ".strtab", SHT_STRTAB, 0, m->strings.data, m->strings.len);

	if (type == SHT_DYNSYM)
		make_elf_hash(m, (uint32_t)(m->symbols.len / sizeof(Elf64_Sym)));
	m->sections[index].sh_link = strings;
	m->sections[index].sh_entsize = sizeof(Elf64_Sym);
	m->strings.len = 1;
	m->symbols.len = sizeof(Elf64_Sym);
	return index;
}
