/* SPDX-License-Identifier: Apache-2.0 */
/* rows_made.h - an ELF file in memory with a large text and the call frame sections that a test
 * gives it, and its rows. */
#pragma once

#include <elf.h>

#include "base/own.h"
#include "elf/image.h"
#include "unwind/rows.h"
#include "cfi_bytes.h"

/* The file's text, and where it is mapped. The headers are in front, all else behind. */
#define TEXT_OFFSET 0x1000ULL
#define TEXT_SIZE 0x60000ULL
#define TEXT_VADDR 0x21000ULL
#define TEXT(off) (TEXT_VADDR + (off))
#define FILE_MAX (64U << 20)

struct made {
	struct buf file;
	struct image image;
	struct unwind_rows *rows;
};

static inline void made_done(struct made *m)
{
	unwind_rows_free(m->rows);
	image_done(&m->image);
	buf_done(&m->file);
}

static inline void pad(struct buf *b, size_t size)
{
	while (b->len < size)
		buf_putc(b, '\0');
}

enum {
	SECTION_EH = 1,
	SECTION_DEBUG,
	SECTION_NAMES,
	SECTIONS,
};

/* An ELF file with these two sections; NULL leaves one out. named: by section headers; else
 * .eh_frame is found by PT_GNU_EH_FRAME. */
static inline void make_file(
	struct buf *f, const struct buf *eh, const struct buf *debug, bool named)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	Elf64_Shdr s[SECTIONS] = { 0 };
	Elf64_Ehdr h = { .e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(h),
		.e_phoff = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(s[0]),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTION_NAMES };
	Elf64_Phdr p[3] = {
		{ .p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = TEXT_OFFSET,
			.p_vaddr = TEXT_VADDR,
			.p_filesz = TEXT_SIZE,
			.p_memsz = TEXT_SIZE },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = CFI_SECTION_VADDR },
		{ .p_type = PT_GNU_EH_FRAME },
	};

	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	pad(f, TEXT_OFFSET + TEXT_SIZE);
	p[1].p_offset = s[SECTION_EH].sh_offset = f->len;
	s[SECTION_EH].sh_name = 1;
	s[SECTION_EH].sh_type = eh ? SHT_PROGBITS : SHT_NOBITS;
	s[SECTION_EH].sh_addr = CFI_SECTION_VADDR;
	if (eh)
		buf_put(f, eh->data, s[SECTION_EH].sh_size = eh->len);
	if (!named)
		buf_put(f, "\0\0\0\0", 4);
	/* .eh_frame_hdr: pointers relative to themselves, no table. */
	p[2].p_vaddr = CFI_SECTION_VADDR + f->len - p[1].p_offset;
	buf_put(f, "\x01\x1b\xff\xff", 4);
	cfi_put(f, CFI_SECTION_VADDR - (p[2].p_vaddr + 4), 4);
	p[1].p_filesz = p[1].p_memsz = f->len - p[1].p_offset;
	s[SECTION_DEBUG].sh_offset = f->len;
	s[SECTION_DEBUG].sh_name = debug ? 11 : 0;
	s[SECTION_DEBUG].sh_type = SHT_PROGBITS;
	if (debug)
		buf_put(f, debug->data, s[SECTION_DEBUG].sh_size = debug->len);
	s[SECTION_NAMES].sh_offset = f->len;
	s[SECTION_NAMES].sh_name = 24;
	s[SECTION_NAMES].sh_type = SHT_STRTAB;
	s[SECTION_NAMES].sh_size = sizeof(names);
	buf_put(f, names, sizeof(names));
	pad(f, (f->len + 7) & ~7UL);
	if (named)
		h.e_shoff = f->len;
	else
		h.e_shnum = h.e_shstrndx = 0;
	buf_put(f, s, sizeof(s));
	memcpy(f->data, &h, sizeof(h));
	memcpy(f->data + sizeof(h), p, sizeof(p));
}

static inline int build(struct made *m, const struct buf *eh, const struct buf *debug)
{
	struct why why;

	*m = (struct made){ 0 };
	make_file(&m->file, eh, debug, true);
	assert_int_equal(image_init(&m->image, m->file.data, m->file.len, &why), 0);
	return unwind_rows_build(&m->image, &m->rows, &why);
}
