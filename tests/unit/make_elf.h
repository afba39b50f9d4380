/* SPDX-License-Identifier: Apache-2.0 */
/* make_elf.h - a small ELF file in memory, for tests: code at file offset 0x1000 and vaddr
 * 0x401000, data behind it, and whatever sections a test adds. It may be spoilt afterwards. */
#pragma once

#include <elf.h>
#include <string.h>

#include "base/buf.h"

#define MAKE_ELF_TEXT_OFFSET 0x1000
#define MAKE_ELF_TEXT_VADDR 0x401000
#define MAKE_ELF_TEXT_SIZE 0x1000
#define MAKE_ELF_DATA_VADDR 0x501000 /* right behind the code in the file */
#define MAKE_ELF_DATA_SIZE 0x100
#define MAKE_ELF_SECTIONS_MAX 16

struct make_elf {
	struct buf file;
	struct buf names;   /* of sections */
	struct buf strings; /* of symbols */
	struct buf symbols;
	Elf64_Shdr sections[MAKE_ELF_SECTIONS_MAX];
	unsigned int sections_len;
	Elf64_Half machine;
	Elf64_Half type;
};

static inline unsigned int make_elf_header(
	struct make_elf *m, const char *name, Elf64_Word type, Elf64_Xword flags)
{
	Elf64_Shdr *s = &m->sections[m->sections_len];

	*s = (Elf64_Shdr){
		.sh_name = (Elf64_Word)m->names.len, .sh_type = type, .sh_flags = flags
	};
	buf_put(&m->names, name, strlen(name) + 1);
	return m->sections_len++;
}

/* A section with these bytes, which lie at the end of the file so far. */
static inline unsigned int make_elf_section(struct make_elf *m, const char *name, Elf64_Word type,
	Elf64_Xword flags, const void *data, size_t size)
{
	unsigned int index = make_elf_header(m, name, type, flags);

	while (m->file.len % 8)
		buf_putc(&m->file, '\0');
	m->sections[index].sh_offset = m->file.len;
	m->sections[index].sh_size = size;
	buf_put(&m->file, data, size);
	return index;
}

static inline void make_elf_init(struct make_elf *m)
{
	static const char zeros[MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE];
	Elf64_Shdr *text, *data;

	*m = (struct make_elf){ .machine = EM_X86_64, .type = ET_DYN };
	buf_put(&m->file, zeros, sizeof(zeros));
	make_elf_header(m, "", SHT_NULL, 0);
	text = &m->sections[make_elf_header(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR)];
	text->sh_addr = MAKE_ELF_TEXT_VADDR;
	text->sh_offset = MAKE_ELF_TEXT_OFFSET;
	text->sh_size = MAKE_ELF_TEXT_SIZE / 2;
	data = &m->sections[make_elf_header(m, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE)];
	data->sh_addr = MAKE_ELF_DATA_VADDR;
	data->sh_offset = MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE / 2;
	data->sh_size = MAKE_ELF_DATA_SIZE;
	buf_putc(&m->strings, '\0');
	buf_put(&m->symbols, zeros, sizeof(Elf64_Sym));
}

static inline Elf64_Phdr make_elf_load(
	Elf64_Word flags, Elf64_Off offset, Elf64_Addr vaddr, Elf64_Xword size)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = vaddr,
		.p_filesz = size,
		.p_memsz = size };
}

/* Puts the headers in their places; m->file is the file then. */
static inline void make_elf_finish(struct make_elf *m)
{
	unsigned int names = make_elf_header(m, ".shstrtab", SHT_STRTAB, 0);
	Elf64_Phdr loads[] = { make_elf_load(PF_R | PF_X, MAKE_ELF_TEXT_OFFSET, MAKE_ELF_TEXT_VADDR,
				       MAKE_ELF_TEXT_SIZE / 2),
		make_elf_load(PF_R | PF_W, MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE / 2,
			MAKE_ELF_DATA_VADDR, MAKE_ELF_DATA_SIZE) };
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
		.e_type = m->type,
		.e_machine = m->machine,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(loads[0]),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)m->sections_len,
		.e_shstrndx = (Elf64_Half)names };

	m->sections[names].sh_offset = m->file.len;
	m->sections[names].sh_size = m->names.len;
	buf_put(&m->file, m->names.data, m->names.len);
	header.e_shoff = m->file.len;
	buf_put(&m->file, m->sections, m->sections_len * sizeof(Elf64_Shdr));
	memcpy(m->file.data, &header, sizeof(header));
	memcpy(m->file.data + sizeof(header), loads, sizeof(loads));
}

static inline void make_elf_done(struct make_elf *m)
{
	buf_done(&m->file);
	buf_done(&m->names);
	buf_done(&m->strings);
	buf_done(&m->symbols);
}
