/* SPDX-License-Identifier: Apache-2.0 */
/* swap.c - runs a function of files, and then has other files at the same addresses.
 * Usage: swap SECONDS OFFSET FILE OTHER [FILE OTHER...]
 * OFFSET is where a function uint64_t f(uint64_t) begins in each FILE. Prints "swapped" when every
 * FILE has run and every OTHER is mapped in its place.
 *
 * BUILD: -O1 -g
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

static void *map(const char *path, void *at, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mapped = fd < 0
		? MAP_FAILED
		: mmap(at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);

	if (mapped == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return mapped;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;
	size_t offset = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct stat st;

	for (int i = 3; i + 1 < argc; i += 2) {
		uint64_t (*f)(uint64_t);
		char *at;

		if (stat(argv[i], &st) < 0)
			return 1;
		at = map(argv[i], NULL, (size_t)st.st_size);
		f = (uint64_t(*)(uint64_t))(void *)(at + offset);
		x = f(x);
		map(argv[i + 1], at, (size_t)st.st_size);
	}
	printf("swapped %llu\n", (unsigned long long)x % 2);
	fflush(stdout);
	while (!is_past(end))
		pause();
	return 0;
}
