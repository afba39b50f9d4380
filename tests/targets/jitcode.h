/* SPDX-License-Identifier: Apache-2.0 */
/* jitcode.h - machine code written at run time: two busy functions of 3 and 1 parts, called by a
 * third: outer;alpha and outer;beta. Each has a frame-pointer prologue. */
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"
#include "jitchange.h"

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

/* Until `end`, or until a change is asked for. Alpha runs three times as long as beta, in turns of
 * changing length: turns in step with the ticks would give it any share of them.
 * beside: what is added to alpha's and beta's places. */
NOINLINE void run_until(const struct code *code, unsigned int beside, uint64_t end)
{
	jit_outer outer = (jit_outer)(void *)(code->run + OUTER);
	static uint32_t turn = 1;

	while (!is_past(end) && !change_asked) {
		unsigned int n;

		turn = turn * 1664525 + 1013904223;
		n = 300000 + (turn >> 12);
		outer(3 * n, code->run + ALPHA + beside);
		outer(n, code->run + BETA + beside);
	}
}

static int code_init(struct code *code, int in_memfd)
{
	if (in_memfd ? map_memfd(code) : map_anonymous(code))
		return 1;
	emit(code, ALPHA, loop_code, sizeof(loop_code));
	emit(code, BETA, loop_code, sizeof(loop_code));
	emit(code, OUTER, outer_code, sizeof(outer_code));
	return 0;
}
