/* SPDX-License-Identifier: Apache-2.0 */
/* randomnames.c - a JIT whose functions have names of 1,000 random characters, to fill a store.
 * Usage: randomnames [SECONDS [FUNCTIONS]]
 * Each function runs for a few milliseconds, in any order. Prints `ready`, and how many ran.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"
#include "jitcode.h"

#define NAME_LEN 1000

typedef void (*jit_loop)(uint64_t steps);

static uint32_t now = 1;

static uint32_t any(uint32_t below)
{
	now = now * 1664525 + 1013904223;
	return (now >> 8) % below;
}

static int write_map(const unsigned char *memory, unsigned int functions)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
	char name[NAME_LEN + 1] = "", path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	for (unsigned int i = 0; map && i < functions; i++) {
		for (int at = 0; at < NAME_LEN; at++)
			name[at] = letters[any(sizeof(letters) - 1)];
		fprintf(map, "%lx %x %s\n", (unsigned long)(memory + (size_t)i * FUNCTION_SIZE),
			FUNCTION_SIZE, name);
	}
	return !map || fclose(map);
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	unsigned int functions = (unsigned int)number_arg(argc, argv, 2, 8000), ran = 0;
	size_t size = (size_t)functions * FUNCTION_SIZE;
	unsigned char *memory = mmap(
		NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setvbuf(stdout, NULL, _IOLBF, 0);
	now += (uint32_t)getpid();
	if (memory == MAP_FAILED || write_map(memory, functions)) {
		perror("randomnames");
		return 1;
	}
	for (unsigned int i = 0; i < functions; i++)
		memcpy(memory + (size_t)i * FUNCTION_SIZE, loop_code, sizeof(loop_code));
	__builtin___clear_cache((char *)memory, (char *)memory + size);
	puts("ready");
	for (; !is_past(end); ran++)
		((jit_loop)(void *)(memory + (size_t)any(functions) * FUNCTION_SIZE))(3000000);
	printf("%u\n", ran);
	return 0;
}
