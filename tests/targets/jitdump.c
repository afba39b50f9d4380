/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump.c - machine code written at run time, with a jitdump beside it.
 * Usage: jitdump [SECONDS [MODE]]
 *
 * The code is in jitcode.h. The dump is jit-PID.dump in the current directory, a page of it mapped
 * executable; names are dump_outer, dump_alpha, dump_beta.
 *   load      as it is (default)
 *   lines     each function has lines, in dump.js
 *   both      a perf map beside it, with the same names, and jit_beta for beta
 *   late      the dump comes at half time
 *   reuse     at half time alpha's and beta's addresses get other code and new records
 *   move      at half time both are moved, and their places taken by others
 *   rewrite   at half time the dump is truncated and written anew, with other names
 *   replace   at half time the dump is closed, and a new one under its name has other names
 *   cut       beta's record is cut in its name
 *   swapped   the header is of the other byte order
 * Prints `ready` when the functions run and `half` after the change at half time, or on SIGUSR1.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "burn.h"
#include "jitcode.h"

#define MOVED 0x4000 /* further on */

struct dump {
	const char *mode;
	const struct code *code;
	FILE *file;
	void *marker;
};

static void put32(const struct dump *d, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, d->file);
}

static void put64(const struct dump *d, uint64_t value)
{
	fwrite(&value, sizeof(value), 1, d->file);
}

static void put_prefix(const struct dump *d, uint32_t id, size_t size)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	put32(d, id);
	put32(d, (uint32_t)(16 + size));
	put64(d, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void put_lines(const struct dump *d, uint64_t at)
{
	static const char file[] = "dump.js";

	put_prefix(d, 2, 16 + 16 + sizeof(file));
	put64(d, at);
	put64(d, 1);
	put64(d, at);
	put32(d, 77);
	put32(d, 0);
	fwrite(file, sizeof(file), 1, d->file);
}

static void put_load(const struct dump *d, unsigned int offset, const char *name)
{
	uint64_t at = (uint64_t)(uintptr_t)(d->code->run + offset);

	if (!strcmp(d->mode, "lines"))
		put_lines(d, at);
	put_prefix(d, 0, 40 + strlen(name) + 1 + FUNCTION_SIZE);
	put32(d, (uint32_t)getpid());
	put32(d, (uint32_t)getpid());
	put64(d, at);
	put64(d, at);
	put64(d, FUNCTION_SIZE);
	put64(d, offset);
	fwrite(name, strlen(name) + 1, 1, d->file);
	fwrite(d->code->run + offset, FUNCTION_SIZE, 1, d->file);
}

static void put_move(const struct dump *d, unsigned int from, unsigned int to)
{
	put_prefix(d, 1, 48);
	put32(d, (uint32_t)getpid());
	put32(d, (uint32_t)getpid());
	put64(d, (uint64_t)(uintptr_t)(d->code->run + to));
	put64(d, (uint64_t)(uintptr_t)(d->code->run + from));
	put64(d, (uint64_t)(uintptr_t)(d->code->run + to));
	put64(d, FUNCTION_SIZE);
	put64(d, from);
}

static void put_header(const struct dump *d)
{
	int swapped = !strcmp(d->mode, "swapped");

	put32(d, swapped ? __builtin_bswap32(0x4A695444) : 0x4A695444);
	put32(d, swapped ? __builtin_bswap32(1) : 1);
	put32(d, swapped ? __builtin_bswap32(40) : 40);
	put32(d, 62);
	put32(d, 0);
	put32(d, (uint32_t)getpid());
	put64(d, 0);
	put64(d, 0);
}

static void put_names(const struct dump *d, const char *alpha, const char *beta)
{
	put_header(d);
	put_load(d, OUTER, "dump_outer");
	put_load(d, ALPHA, alpha);
	put_load(d, BETA, beta);
	fflush(d->file);
	if (!strcmp(d->mode, "cut") && ftruncate(fileno(d->file), ftell(d->file) - 70))
		perror("jitdump: cut");
}

static int dump_begin(struct dump *d, const char *alpha, const char *beta)
{
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	d->file = fopen(path, "w+");
	if (!d->file)
		return 1;
	put_names(d, alpha, beta);
	d->marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(d->file), 0);
	return d->marker == MAP_FAILED;
}

static int dump_replace(struct dump *d)
{
	char path[64];

	put_prefix(d, 3, 0);
	fclose(d->file);
	munmap(d->marker, 4096);
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	return unlink(path) || dump_begin(d, "new_alpha", "new_beta");
}

static int dump_rewrite(const struct dump *d)
{
	rewind(d->file);
	if (ftruncate(fileno(d->file), 0))
		return 1;
	put_names(d, "new_alpha", "a_new_beta_with_a_longer_name");
	return 0;
}

static int map_begin(const struct code *code)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %x dump_outer\n", (unsigned long)(code->run + OUTER), FUNCTION_SIZE);
	fprintf(map, "%lx %x dump_alpha\n", (unsigned long)(code->run + ALPHA), FUNCTION_SIZE);
	fprintf(map, "%lx %x jit_beta\n", (unsigned long)(code->run + BETA), FUNCTION_SIZE);
	return fclose(map) != 0;
}

static void take_places(const struct dump *d)
{
	emit(d->code, ALPHA, other_code, sizeof(other_code));
	emit(d->code, BETA, other_code, sizeof(other_code));
	put_load(d, ALPHA, "new_alpha");
	put_load(d, BETA, "new_beta");
	fflush(d->file);
}

static int change_at_half(struct dump *d)
{
	if (!strcmp(d->mode, "late"))
		return dump_begin(d, "dump_alpha", "dump_beta");
	if (!strcmp(d->mode, "rewrite"))
		return dump_rewrite(d);
	if (!strcmp(d->mode, "replace"))
		return dump_replace(d);
	if (!strcmp(d->mode, "move")) {
		emit(d->code, ALPHA + MOVED, loop_code, sizeof(loop_code));
		emit(d->code, BETA + MOVED, loop_code, sizeof(loop_code));
		put_move(d, ALPHA, ALPHA + MOVED);
		put_move(d, BETA, BETA + MOVED);
		take_places(d);
	}
	if (!strcmp(d->mode, "reuse"))
		take_places(d);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 60);
	uint64_t half = deadline_in(seconds / 2), end = deadline_in(seconds);
	struct code code;
	struct dump d = { .mode = argc > 2 ? argv[2] : "load", .code = &code };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (code_init(&code, 0) || (!strcmp(d.mode, "both") && map_begin(&code)) ||
		(strcmp(d.mode, "late") && dump_begin(&d, "dump_alpha", "dump_beta"))) {
		perror("jitdump");
		return 1;
	}
	change_on_signal();
	puts("ready");
	run_until(&code, 0, half);
	if (change_at_half(&d)) {
		perror("jitdump");
		return 1;
	}
	change_asked = 0;
	puts("half");
	run_until(&code, !strcmp(d.mode, "move") ? MOVED : 0, end);
	return 0;
}
