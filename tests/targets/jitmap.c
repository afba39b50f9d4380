/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap.c - machine code written at run time, with a perf map beside it.
 * Usage: jitmap [SECONDS [MODE]]
 *
 * Two busy functions of 3 and 1 parts, called by a third: outer;alpha and outer;beta under main.
 * Each has a frame-pointer prologue. The map is /tmp/perf-PID.map, PID as the process sees itself.
 *   anon          code in anonymous memory (default)
 *   memfd         code in a shared mapping of a memfd, named through its executable address
 *   nomap         no map at all
 *   late          the map comes at half time
 *   rewrite       at half time the map is truncated and written anew, with other names
 *   rewrite-same  the same, with names of the same lengths: the file has its old size
 *   reuse         at half time alpha's and beta's addresses get other code and new lines
 *   cut           beta's line is cut in its name: no newline follows
 * Prints `ready` when the functions run and `half` after the change at half time.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

#define CODE_SIZE 65536
#define ALPHA 0x1000
#define BETA 0x2000
#define OUTER 0x3000
#define FUNCTION_SIZE 64

typedef void (*jit_outer)(uint64_t steps, void *callee);

struct code {
	unsigned char *write;
	unsigned char *run; /* the same memory as `write`, elsewhere when it is shared */
};

#if defined(__x86_64__)
static const unsigned char loop_code[] = {
	0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
	0x48, 0xff, 0xcf,       /* dec rdi */
	0x75, 0xfb,             /* jnz to the dec */
	0x5d, 0xc3,             /* pop rbp; ret */
};
/* The loop counts by another register: other code at the same address. */
static const unsigned char other_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, /* mov rcx, rdi */
	0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3, /* dec rcx; jnz */
};
static const unsigned char outer_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3, /* call rsi */
};
#elif defined(__aarch64__)
static const uint32_t loop_code[] = {
	0xa9bf7bfd, 0x910003fd, /* stp x29, x30, [sp, -16]!; mov x29, sp */
	0xf1000400, 0x54ffffe1, /* subs x0, x0, 1; b.ne */
	0xa8c17bfd, 0xd65f03c0, /* ldp x29, x30, [sp], 16; ret */
};
static const uint32_t other_code[] = {
	0xa9bf7bfd, 0x910003fd, 0xaa0003e2,             /* mov x2, x0 */
	0xf1000442, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0, /* subs x2, x2, 1 */
};
static const uint32_t outer_code[] = {
	0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0, /* blr x1 */
};
#else
#error "no machine code for this architecture"
#endif

static void emit(const struct code *code, unsigned int at, const void *bytes, size_t size)
{
	memcpy(code->write + at, bytes, size);
	__builtin___clear_cache((char *)code->run + at, (char *)code->run + at + size);
}

static int map_anonymous(struct code *code)
{
	void *p = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	code->write = code->run = p;
	return 0;
}

/* As a runtime does that never has memory both writable and executable. */
static int map_memfd(struct code *code)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	void *w, *x;

	if (fd < 0 || ftruncate(fd, CODE_SIZE))
		return 1;
	w = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (w == MAP_FAILED || x == MAP_FAILED)
		return 1;
	*code = (struct code){ .write = w, .run = x };
	return 0;
}

static void map_line(int fd, const struct code *code, unsigned int at, const char *text)
{
	dprintf(fd, "%lx %x %s", (unsigned long)(code->run + at), FUNCTION_SIZE, text);
}

static int map_open(int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
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

NOINLINE void run_until(const struct code *code, uint64_t end)
{
	jit_outer outer = (jit_outer)(void *)(code->run + OUTER);

	while (!is_past(end)) {
		outer(3000000, code->run + ALPHA);
		outer(1000000, code->run + BETA);
	}
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 60);
	const char *mode = argc > 2 ? argv[2] : "anon";
	uint64_t half = deadline_in(seconds / 2), end = deadline_in(seconds);
	struct code code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(mode, "memfd") ? map_anonymous(&code) : map_memfd(&code)) {
		perror("jitmap: mmap");
		return 1;
	}
	emit(&code, ALPHA, loop_code, sizeof(loop_code));
	emit(&code, BETA, loop_code, sizeof(loop_code));
	emit(&code, OUTER, outer_code, sizeof(outer_code));
	if (strcmp(mode, "nomap") && strcmp(mode, "late") && map_write(&code, mode))
		return 1;
	puts("ready");
	run_until(&code, half);
	if (change_at_half(&code, mode))
		return 1;
	puts("half");
	run_until(&code, end);
	return 0;
}
