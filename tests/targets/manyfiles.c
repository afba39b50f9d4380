/* SPDX-License-Identifier: Apache-2.0 */
/* manyfiles.c - maps many files of its own as code, a few kilobytes each, and runs in each of them
 * now and then. Usage: manyfiles DIR FILES [SECONDS [touch]]
 * Prints "ready" when all are mapped, and at its end how often it ran one. touch: each file is
 * another one each time it runs, since it has another time of writing.
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


#define BYTES 4096

#if defined(__x86_64__)
/* mov $20000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = { 0xb9, 0x20, 0x4e, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#elif defined(__aarch64__)
/* mov w1,#20000; 1: subs w1,w1,#1; b.ne 1b; ret */
static const uint32_t code[] = { 0x5289c401, 0x71000421, 0x54ffffe1, 0xd65f03c0 };
#endif

static void (*map_one(const char *dir, int i))(void)
{
	char path[4096];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%d", dir, i);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (fd < 0 || ftruncate(fd, BYTES) < 0 || pwrite(fd, code, sizeof(code), 0) < 0)
		return NULL;
	at = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : (void (*)(void))(uintptr_t)at;
}

static void touch(const char *dir, int i)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d", dir, i);
	utimensat(AT_FDCWD, path, NULL, 0);
}

int main(int argc, char **argv)
{
	int files = argc > 2 ? atoi(argv[2]) : 0, ran = 0;
	time_t end = time(NULL) + (argc > 3 ? atoi(argv[3]) : 60);
	void (**functions)(void) = calloc((size_t)files + 1, sizeof(*functions));

	for (int i = 0; i < files && functions; i++) {
		functions[i] = map_one(argv[1], i);
		if (!functions[i]) {
			perror(argv[1]);
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	while (time(NULL) < end)
		for (int i = 0; i < files; i++, ran++) {
			if (argc > 4)
				touch(argv[1], i);
			functions[i]();
		}
	printf("%d\n", ran);
	return 0;
}
