/* SPDX-License-Identifier: Apache-2.0 */
/* greedy.c - maps and runs files that want all of a table of unwind rows, or of the time in which
 * they are made.
 * Usage: greedy DIR FILES sparse|rules|slow [SECONDS]
 *   sparse   a function in every eighth page of 64 KiB: three files with as many page numbers as a
 *            file may have, and others with half as many each time, down to one function, for those
 *            that are left
 *   rules    two pages of rows, each of which has a rule of its own
 *   slow     twenty million rows
 *
 * Prints "ready" when all are mapped and each has run, and how often each ran at its end.
 *
 * BUILD: -O1 -g
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"
#include "elf_file.h"

#define SPARSE_PAGES 2048UL
#define SPARSE_APART 8
#define SPARSE_FULL 3
#define RULES_PAGES 2UL
#define SLOW_PAGES 1300UL
#define FILES_MAX 100

static uint64_t sparse_pages(unsigned int file)
{
	uint64_t pages = SPARSE_PAGES;

	for (unsigned int i = SPARSE_FULL; i <= file && pages > 1; i++)
		pages /= 2;
	return pages;
}

enum mode { SPARSE, RULES, SLOW };

static uint64_t pages_of(enum mode mode, unsigned int file)
{
	switch (mode) {
	case SPARSE:
		return sparse_pages(file);
	case RULES:
		return RULES_PAGES;
	case SLOW:
		return SLOW_PAGES;
	}
	return 0;
}

static void make_frames(enum mode mode, unsigned int file)
{
	const uint64_t size = PAGE - CODE_AT;
	uint32_t zero = 0;

	frames_len = 0;
	put(cie, sizeof(cie));
	for (uint64_t i = 0; i < pages_of(mode, file); i++) {
		uint32_t far = (uint32_t)(1 + (file * RULES_PAGES + i) * PAGE / 4);

		if (mode == SPARSE)
			put_function(i * SPARSE_APART * PAGE + CODE_AT, 16, 0, 0);
		else
			put_function(i * PAGE + CODE_AT, size,
				(uint32_t)(mode == RULES ? size / 4 : size / 8) - 1,
				mode == RULES ? far : 0);
	}
	put(&zero, 4);
}

/* The file's code, mapped. */
static unsigned char *make(const char *dir, enum mode mode, unsigned int file)
{
	uint64_t pages = pages_of(mode, file),
		 text = (mode == SPARSE ? pages * SPARSE_APART + 1 : pages) * PAGE;
	char path[4096];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/greedy.%u", dir, file);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	make_frames(mode, file);
	if (fd < 0 || write_file(fd, text) < 0 || write_at(fd, code, sizeof(code), CODE_AT) < 0)
		return NULL;
	at = mmap(NULL, 2 * CODE_AT, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : (unsigned char *)at + CODE_AT;
}

int main(int argc, char **argv)
{
	unsigned int files = (unsigned int)number_arg(argc, argv, 2, 0), turns = 0;
	const char *word = argc > 3 ? argv[3] : "";
	enum mode mode = strcmp(word, "sparse") == 0 ? SPARSE :
			 strcmp(word, "slow") == 0   ? SLOW :
						       RULES;
	uint64_t end = deadline_in(number_arg(argc, argv, 4, 60));
	unsigned char *all[FILES_MAX];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned int file = 0; file < files && file < FILES_MAX; file++) {
		all[file] = make(argv[1], mode, file);
		if (!all[file]) {
			perror(argv[1]);
			return 1;
		}
	}
	for (; !is_past(end); turns++) {
		for (unsigned int file = 0; file < files && file < FILES_MAX; file++)
			((void (*)(void))(uintptr_t)all[file])();
		if (turns == 0)
			puts("ready");
	}
	printf("%u\n", turns);
	return 0;
}
