/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c - runs the code in each of many files, one after the other, and some of its
 * own in no file, of which a spoilt perf map and jitdump tell.
 * Usage: hostile SECONDS FOLDER FIRST LAST NUMBER
 * NUMBER: which map.N and dump.N of the folder become /tmp/perf-PID.map and jit-PID.dump, the word
 * CODE in them replaced by the address of the code. Prints `ready N`: so many files are mapped.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burn.h"

#define PAGE 4096
#define CODE_MAX 32
#define FILES_MAX 2048
#define STEPS 100000
#define TEXT_MAX (16 << 20)

typedef void (*loop_fn)(uint64_t steps);

static loop_fn loops[FILES_MAX + 1];
static size_t loops_len;

/* The whole file is mapped; its last 8 bytes tell where its code is. */
static int map_file(const char *path, loop_fn *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint64_t at;
	char *data;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return -1;
	memcpy(&at, data + st.st_size - sizeof(at), sizeof(at));
	*out = (loop_fn)(void *)(data + at);
	return 0;
}

static loop_fn copy_code(loop_fn from)
{
	void *page = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return from;
	memcpy(page, (void *)from, CODE_MAX);
	__builtin___clear_cache(page, (char *)page + PAGE);
	return (loop_fn)page;
}

/* A copy, with CODE replaced. A dump is mapped as runtimes do, for a profiler to find it. */
static void put_beside(const char *from, const char *to, loop_fn code, int mapped)
{
	static char text[TEXT_MAX];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t len = in ? fread(text, 1, sizeof(text), in) : 0, done = 0;
	char *at;

	while (out && (at = memmem(text + done, len - done, "CODE", 4))) {
		fwrite(text + done, 1, (size_t)(at - text) - done, out);
		fprintf(out, "%lx", (unsigned long)(uintptr_t)code);
		done = (size_t)(at - text) + 4;
	}
	if (out) {
		fwrite(text + done, 1, len - done, out);
		fflush(out);
		if (mapped)
			mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(out), 0);
		fclose(out);
	}
	if (in)
		fclose(in);
}

NOINLINE void run_all(uint64_t end)
{
	while (!is_past(end))
		for (size_t i = 0; i < loops_len; i++)
			loops[i](STEPS);
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	int first = (int)number_arg(argc, argv, 3, 0), last = (int)number_arg(argc, argv, 4, 0);
	int number = (int)number_arg(argc, argv, 5, 0);
	char from[4096], to[64];

	if (argc < 6)
		return 2;
	for (int i = first; i <= last && loops_len < FILES_MAX; i++) {
		snprintf(from, sizeof(from), "%s/%d", argv[2], i);
		loops_len += map_file(from, &loops[loops_len]) == 0;
	}
	if (loops_len == 0)
		return 1;
	loops[loops_len] = copy_code(loops[0]);
	snprintf(from, sizeof(from), "%s/map.%d", argv[2], number);
	snprintf(to, sizeof(to), "/tmp/perf-%d.map", getpid());
	put_beside(from, to, loops[loops_len], 0);
	snprintf(from, sizeof(from), "%s/dump.%d", argv[2], number);
	snprintf(to, sizeof(to), "/tmp/jit-%d.dump", getpid());
	put_beside(from, to, loops[loops_len], 1);
	loops_len++;
	printf("ready %zu\n", loops_len);
	fflush(stdout);
	run_all(end);
	return 0;
}
