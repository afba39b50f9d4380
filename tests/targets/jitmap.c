/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap.c - machine code written at run time, with a perf map beside it.
 * Usage: jitmap [SECONDS [MODE]]
 *
 * The code is in jitcode.h. The map is perf-PID.map, PID as the process sees itself,
 * in DOTNET_PerfMapJitDumpPath, TMPDIR, or /tmp.
 *   anon          code in anonymous memory (default)
 *   memfd         code in a shared mapping of a memfd, named through its executable address
 *   nomap         no map at all
 *   late          the map comes at half time
 *   rewrite       at half time the map is truncated and written anew, with other names
 *   rewrite-same  the same, with names of the same lengths: the file has its old size
 *   reuse         at half time alpha's and beta's addresses get other code and new lines
 *   cut           beta's line is cut in its name: no newline follows
 *   kernel        as anon, and a part of the time is the kernel's
 * Prints `ready` when the functions run and `half` after the change at half time, or on SIGUSR1.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"
#include "jitcode.h"

static void map_line(int fd, const struct code *code, unsigned int at, const char *text)
{
	dprintf(fd, "%lx %x %s", (unsigned long)(code->run + at), FUNCTION_SIZE, text);
}

static int map_open(int flags)
{
	const char *dotnet = getenv("DOTNET_PerfMapJitDumpPath"), *tmp = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/perf-%d.map", dotnet ? dotnet : (tmp ? tmp : "/tmp"),
		(int)getpid());
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
}

static int map_write(const struct code *code, const char *mode)
{
	int fd = map_open(O_TRUNC);

	if (fd < 0)
		return 1;
	map_line(fd, code, OUTER, "jit_outer\n");
	map_line(fd, code, ALPHA, "int jit_alpha(long, char)\n");
	map_line(fd, code, BETA, strcmp(mode, "cut") ? "jit_beta\n" : "jit_beta_cut_in_mid_na");
	close(fd);
	return 0;
}

static int map_rewrite(const struct code *code, int same_size)
{
	int fd = map_open(O_TRUNC);

	if (fd < 0)
		return 1;
	map_line(fd, code, OUTER, "jit_outer\n");
	map_line(fd, code, ALPHA, same_size ? "int new_alpha(long, char)\n" : "new_alpha\n");
	map_line(fd, code, BETA, same_size ? "new_beta\n" : "a_new_beta_with_a_longer_name\n");
	close(fd);
	return 0;
}

static int reuse(const struct code *code)
{
	int fd = map_open(O_APPEND);

	if (fd < 0)
		return 1;
	emit(code, ALPHA, other_code, sizeof(other_code));
	emit(code, BETA, other_code, sizeof(other_code));
	map_line(fd, code, ALPHA, "new_alpha\n");
	map_line(fd, code, BETA, "new_beta\n");
	close(fd);
	return 0;
}

static int change_at_half(const struct code *code, const char *mode)
{
	if (!strcmp(mode, "late"))
		return map_write(code, mode);
	if (!strcmp(mode, "rewrite") || !strcmp(mode, "rewrite-same"))
		return map_rewrite(code, !strcmp(mode, "rewrite-same"));
	if (!strcmp(mode, "reuse"))
		return reuse(code);
	return 0;
}

static void run_with_kernel(const struct code *code, uint64_t end)
{
	static char zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (!is_past(end) && !change_asked) {
		run_until(code, 0, deadline_in(0.005));
		for (int i = 0; i < 10; i++)
			if (read(fd, zeros, sizeof(zeros)) < 0)
				break;
	}
	close(fd);
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 60);
	const char *mode = argc > 2 ? argv[2] : "anon";
	uint64_t half = deadline_in(seconds / 2), end = deadline_in(seconds);
	struct code code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (code_init(&code, !strcmp(mode, "memfd"))) {
		perror("jitmap: mmap");
		return 1;
	}
	if (strcmp(mode, "nomap") && strcmp(mode, "late") && map_write(&code, mode))
		return 1;
	change_on_signal();
	puts("ready");
	if (!strcmp(mode, "kernel"))
		run_with_kernel(&code, half);
	run_until(&code, 0, half);
	if (change_at_half(&code, mode))
		return 1;
	change_asked = 0;
	puts("half");
	run_until(&code, 0, end);
	return 0;
}
