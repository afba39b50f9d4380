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

/* Writes the symbols gathered so far as a table of this name and type, and forgets them. */
static inline unsigned int make_elf_symtab(struct make_elf *m, const char *name, Elf64_Word type)
{
	unsigned int index = make_elf_section(m, name, type, 0, m->symbols.data, m->symbols.len);
	unsigned int strings =
		make_elf_section(m, ".strtab", SHT_STRTAB, 0, m->strings.data, m->strings.len);

	m->sections[index].sh_link = strings;
	m->sections[index].sh_entsize = sizeof(Elf64_Sym);
	m->strings.len = 1;
	m->symbols.len = sizeof(Elf64_Sym);
	return index;
}
