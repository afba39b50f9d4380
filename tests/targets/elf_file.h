/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file.h - ELF files with code that runs and call frames of any shape, for targets that make
 * their own: first the frames are put together, then the file is written. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PAGE 65536UL
#define CODE_AT 4096UL
#define FRAMES_MAX (64UL << 20)

#if defined(__x86_64__)
/* mov $20000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = { 0xb9, 0x20, 0x4e, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#define MACHINE EM_X86_64
static const unsigned char cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0,
	0x0c, 7, 8, 0x90, 1, 0, 0 };
#elif defined(__aarch64__)
/* mov w1,#20000; 1: subs w1,w1,#1; b.ne 1b; ret */
static const uint32_t code[] = { 0x5289c401, 0x71000421, 0x54ffffe1, 0xd65f03c0 };
#define MACHINE EM_AARCH64
static const unsigned char cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0,
	0x0c, 31, 0, 0, 0, 0, 0 };
#endif

static unsigned char frames[FRAMES_MAX];
static size_t frames_len;

static void put(const void *bytes, size_t size)
{
	if (frames_len + size <= FRAMES_MAX)
		memcpy(frames + frames_len, bytes, size);
	frames_len += size;
}

/* One function, whose stack pointer moves at every fourth of its first bytes: to and fro; or, if
 * `far` is not 0, each time to another place, from there on. */
static void put_function(uint64_t start, uint64_t size, uint32_t moves, uint32_t far)
{
	static const unsigned char move[] = { 0x44, 0x0e, 16, 0x44, 0x0e, 8 };
	uint32_t len = 4 + 8 + 8 + 1 + moves * (far ? 5 : sizeof(move)), padded = (len + 7) & ~7U;
	uint32_t back = (uint32_t)frames_len + 4;
	uint64_t zero = 0;

	put(&padded, 4);
	put(&back, 4);
	put(&start, 8);
	put(&size, 8);
	put(&zero, 1);
	for (uint32_t i = 0; i < moves; i++) {
		/* DW_CFA_def_cfa_offset, ULEB128 of three bytes. */
		unsigned char leap[] = { 0x44, 0x0e, (far + i) << 3 | 0x80, (far + i) >> 4 | 0x80,
			(far + i) >> 11 & 0x7f };

		if (far)
			put(leap, sizeof(leap));
		else
			put(move, sizeof(move));
	}
	put(&zero, padded - len);
}

static int write_at(int fd, const void *bytes, size_t size, uint64_t at)
{
	return pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

/* All of the file but its code. text: its size, with gaps. */
static int write_file(int fd, uint64_t text)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	uint64_t at = text;
	Elf64_Ehdr h = { .e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = 1,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2 };
	Elf64_Phdr p = { .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = text,
		.p_memsz = text,
		.p_align = PAGE };
	Elf64_Shdr s[3] = { { 0 } };

	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	s[1] = (Elf64_Shdr){ .sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = at,
		.sh_offset = at,
		.sh_size = frames_len };
	s[2] = (Elf64_Shdr){ .sh_name = 11,
		.sh_type = SHT_STRTAB,
		.sh_offset = at + frames_len,
		.sh_size = sizeof(names) };
	h.e_shoff = (at + frames_len + sizeof(names) + 7) & ~7UL;
	if (ftruncate(fd, (off_t)(h.e_shoff + sizeof(s))) < 0 ||
		write_at(fd, &h, sizeof(h), 0) < 0 || write_at(fd, &p, sizeof(p), sizeof(h)) < 0 ||
		write_at(fd, frames, frames_len, at) < 0 ||
		write_at(fd, names, sizeof(names), at + frames_len) < 0)
		return -1;
	return write_at(fd, s, sizeof(s), h.e_shoff);
}
