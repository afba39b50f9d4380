/* SPDX-License-Identifier: Apache-2.0 */
/* rewritten.c - runs code of files that it made, again and again as other ones.
 * Usage: rewritten FILE TIMES sparse|dense [MS]
 *   sparse   one file with two functions, 4 GiB apart: 8 KB on disk
 *   dense    ten files, in turn, with functions in 1 to 200 pages of 64 KiB
 *
 * Each page of a dense file has thousands of rows, and its mtime is put back, as rsync --inplace
 * --times does. A file is rewritten in place each time, then its code runs for so many milliseconds
 * of CPU time (5). Prints "ready" when it ran first, and "done".
 *
 * BUILD: -O1 -g
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 65536UL
#define CODE_AT 4096UL
#define FRAMES_MAX (8UL << 20)
#define FUNCTION 4096UL
#define FILES 10
#define PAGES 200UL /* that have code, in a file that is not sparse */

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

/* One function, whose stack pointer moves at every fourth of its first bytes. */
static void put_function(uint64_t start, uint64_t size, uint32_t moves)
{
	static const unsigned char move[] = { 0x44, 0x0e, 16, 0x44, 0x0e, 8 };
	uint32_t len = 4 + 8 + 8 + 1 + moves * sizeof(move), padded = (len + 7) & ~7U;
	uint32_t back = (uint32_t)frames_len + 4;
	uint64_t zero = 0;

	put(&padded, 4);
	put(&back, 4);
	put(&start, 8);
	put(&size, 8);
	put(&zero, 1);
	for (uint32_t i = 0; i < moves; i++)
		put(move, sizeof(move));
	put(&zero, padded - len);
}

static void make_frames(int sparse, int turn)
{
	uint64_t pages = sparse ? 1 : 1 + (uint64_t)turn * 37 % PAGES;
	uint32_t zero = 0;

	frames_len = 0;
	put(cie, sizeof(cie));
	for (uint64_t page = 0; page < pages; page++)
		put_function(page * PAGE + CODE_AT, 16, 0);
	if (sparse)
		put_function((4UL << 30) - 2 * PAGE, 16, 1);
	for (uint64_t page = 0; page < pages && !sparse; page++)
		for (uint64_t at = FUNCTION; at < PAGE; at += FUNCTION)
			put_function(page * PAGE + at + 16, FUNCTION - 16,
				(uint32_t)(100 + (turn + at / FUNCTION) % 300));
	put(&zero, 4);
}

static int write_at(int fd, const void *bytes, size_t size, uint64_t at)
{
	return pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

static int write_code(int fd, int sparse)
{
	for (uint64_t page = 0; page < (sparse ? 1 : PAGES); page++)
		if (write_at(fd, code, sizeof(code), page * PAGE + CODE_AT) < 0)
			return -1;
	return 0;
}

/* The whole file anew, in place. */
static int rewrite(int fd, int sparse, int turn)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	uint64_t text = sparse ? 4UL << 30 : (PAGES + 1) * PAGE, at;
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

	make_frames(sparse, turn);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	at = text;
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
		write_code(fd, sparse) < 0 || write_at(fd, frames, frames_len, at) < 0 ||
		write_at(fd, names, sizeof(names), at + frames_len) < 0)
		return -1;
	return write_at(fd, s, sizeof(s), h.e_shoff);
}

/* In each of its pages that has code. */
static int run(int fd, int sparse, long ms)
{
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
	size_t size = sparse ? 2 * CODE_AT : PAGES * PAGE;
	char *at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return -1;
	do
		for (size_t from = CODE_AT; from < size; from += PAGE)
			((void (*)(void))(uintptr_t)(at + from))();
	while (clock() < end);
	return munmap(at, size);
}

/* Another file each time, for one that is not sparse. */
static int turn_to(const char *path, int sparse, int turn, long ms)
{
	static const struct timespec times[2] = { { .tv_sec = 1000000000 },
		{ .tv_sec = 1000000000 } };
	char name[4096];
	int fd, err;

	snprintf(name, sizeof(name), "%s.%d", path, sparse ? 0 : turn % FILES);
	fd = open(name, O_RDWR | O_CREAT, 0700);
	if (fd < 0)
		return -1;
	err = rewrite(fd, sparse, turn);
	if (err == 0 && !sparse)
		err = futimens(fd, times);
	if (err == 0)
		err = run(fd, sparse, ms);
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int times = argc > 3 ? atoi(argv[2]) : 0,
	    sparse = argc > 3 && strcmp(argv[3], "sparse") == 0;
	long ms = argc > 4 ? atol(argv[4]) : 5;

	for (int turn = 0; turn < times; turn++) {
		if (turn_to(argv[1], sparse, turn, ms) < 0) {
			perror(argv[1]);
			return 1;
		}
		if (turn == 0)
			printf("ready\n");
		fflush(stdout);
	}
	printf("done\n");
	return 0;
}
