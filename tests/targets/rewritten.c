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
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf_file.h"

#define FUNCTION 4096UL
#define FILES 10
#define PAGES 200UL /* that have code, in a file that is not sparse */

static void make_frames(int sparse, int turn)
{
	uint64_t pages = sparse ? 1 : 1 + (uint64_t)turn * 37 % PAGES;
	uint32_t zero = 0;

	frames_len = 0;
	put(cie, sizeof(cie));
	for (uint64_t page = 0; page < pages; page++)
		put_function(page * PAGE + CODE_AT, 16, 0, 0);
	if (sparse)
		put_function((4UL << 30) - 2 * PAGE, 16, 1, 0);
	for (uint64_t page = 0; page < pages && !sparse; page++)
		for (uint64_t at = FUNCTION; at < PAGE; at += FUNCTION)
			put_function(page * PAGE + at + 16, FUNCTION - 16,
				(uint32_t)(100 + (turn + at / FUNCTION) % 300), 0);
	put(&zero, 4);
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
	make_frames(sparse, turn);
	if (write_file(fd, sparse ? 4UL << 30 : (PAGES + 1) * PAGE) < 0)
		return -1;
	return write_code(fd, sparse);
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
