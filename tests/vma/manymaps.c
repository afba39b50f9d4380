/* SPDX-License-Identifier: Apache-2.0 */
/* manymaps.c - a process with a deep tree of mappings. Usage: manymaps [SECONDS [MAPPINGS]]
 * 10,000 by default, a page or a few each, of several kinds that the kernel cannot join, with holes
 * between some. It burns with addresses of them on top of its stack, and prints `ready` once there.
 *
 * BUILD: -O1 -g
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/targets/burn.h"

#define PAGE_BYTES 4096UL
#define PLACE_PAGES 4
#define WORDS 64
#define STEPS 20000

struct kind {
	int prot, flags, has_file;
};

/* Every third of them is left out at times; read-only files and shared ones are what differs most
 * in the kernel's flags. */
static const struct kind kinds[] = {
	{ PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	{ PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	{ PROT_READ | PROT_EXEC, MAP_PRIVATE, 1 },
	{ PROT_READ, MAP_SHARED, 1 },
	{ PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	{ PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, 0 },
	{ PROT_READ | PROT_EXEC, MAP_SHARED, 1 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Place i of the arena: one to four pages of one kind, or a hole. */
static int map_place(char *place, size_t i, int fd)
{
	const struct kind *kind = &kinds[i % KINDS];
	size_t pages = 1 + i * 7 % PLACE_PAGES;
	off_t offset = kind->has_file ? (off_t)(i % 3 * PAGE_BYTES) : 0;

	if (i % 11 == 5)
		return munmap(place, PLACE_PAGES * PAGE_BYTES);
	if (pages < PLACE_PAGES && i % 2 &&
		munmap(place + pages * PAGE_BYTES, (PLACE_PAGES - pages) * PAGE_BYTES))
		return -1;
	return mmap(place, pages * PAGE_BYTES, kind->prot, kind->flags | MAP_FIXED,
		       kind->has_file ? fd : -1, offset) == MAP_FAILED
		? -1
		: 0;
}

NOINLINE uint64_t touch(const char *arena, size_t bytes, uint64_t x)
{
	volatile uint64_t words[WORDS];

	for (int i = 0; i < WORDS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		words[i] = (uint64_t)arena + (x >> 16) % bytes;
	}
	x = burn(x, STEPS);
	return x + words[x % WORDS];
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;
	size_t places = (size_t)number_arg(argc, argv, 2, 10000);
	size_t bytes = places * PLACE_PAGES * PAGE_BYTES;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *arena = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (arena == MAP_FAILED || fd < 0)
		return 1;
	for (size_t i = 0; i < places; i++) {
		if (map_place(arena + i * PLACE_PAGES * PAGE_BYTES, i, fd)) {
			perror("manymaps");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (!is_past(end))
		x = touch(arena, bytes, x);
	return x == 0;
}
