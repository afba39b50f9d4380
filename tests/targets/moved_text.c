/* SPDX-License-Identifier: Apache-2.0 */
/* moved_text.c - burns in text that it copied into anonymous memory: main;moved_parent;moved_leaf.
 * Usage: moved_text [SECONDS [beside]]
 * The copy replaces the file's mapping of the same addresses, as programs do it for huge pages.
 * With `beside` the copy lies between two other mappings of the file, where nothing of the file is
 * missing. Prints `ready`.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -Wl,-z,separate-code
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

#define STEPS 20000
#define PAGE_BYTES 4096UL
#define MOVED __attribute__((section("moved_text")))

extern char __start_moved_text[], __stop_moved_text[];

MOVED NOINLINE __attribute__((aligned(PAGE_BYTES))) uint64_t moved_leaf(uint64_t x)
{
	return burn(x, STEPS);
}

MOVED NOINLINE uint64_t moved_parent(uint64_t x)
{
	return moved_leaf(x) + 1;
}

/* A copy of the text, executable; NULL: failed. */
static char *copy_text(size_t size)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	memcpy(copy, __start_moved_text, size);
	__builtin___clear_cache(copy, copy + size);
	return mprotect(copy, size, PROT_READ | PROT_EXEC) == 0 ? copy : NULL;
}

static char *put(char *copy, size_t size, char *at)
{
	return mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at);
}

/* The copy between two mappings of the file's beginning. */
static char *put_beside(char *copy, size_t size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *room = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || room == MAP_FAILED)
		return MAP_FAILED;
	for (int i = 0; i < 3; i += 2)
		if (mmap(room + i * size, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			    0) == MAP_FAILED)
			return MAP_FAILED;
	close(fd);
	return put(copy, size, room + size);
}

int main(int argc, char **argv)
{
	uint64_t x = 2, end_ns = deadline_in(number_arg(argc, argv, 1, 60));
	size_t size = (size_t)(__stop_moved_text - __start_moved_text + PAGE_BYTES - 1) &
		~(PAGE_BYTES - 1);
	uint64_t (*volatile run)(uint64_t) = moved_parent;
	char *copy = copy_text(size), *at = MAP_FAILED;

	if (copy)
		at = argc > 2 ? put_beside(copy, size) : put(copy, size, __start_moved_text);
	if (at == MAP_FAILED) {
		perror("moved_text");
		return 1;
	}
	run = (uint64_t(*)(uint64_t))(at + ((char *)moved_parent - __start_moved_text));
	puts("ready");
	fflush(stdout);
	while (!is_past(end_ns))
		x = run(x);
	return x == 0;
}
