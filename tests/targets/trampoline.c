/* SPDX-License-Identifier: Apache-2.0 */
/* trampoline.c - burns under a copy of the code that CPython makes for each function under
 * `-X perf`, in memory without a file and without a frame pointer: main;(the copy);evaluate.
 * Usage: trampoline [SECONDS]
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "burn.h"

#define STEPS 20000
#define PAGE_BYTES 65536

typedef uint64_t (*evaluator)(uint64_t x);
typedef uint64_t (*trampoline)(uint64_t x, void *, uint64_t, evaluator evaluate);

#if defined(__x86_64__)
static const unsigned char code[] = {
	0x48,
	0x83,
	0xec,
	0x08, /* sub $8,%rsp */
	0xff,
	0xd1, /* call *%rcx */
	0x48,
	0x83,
	0xc4,
	0x08, /* add $8,%rsp */
	0xc3,
};
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xa9bf7bfd,
	0x910003fd, /* stp x29, x30, [sp, -16]!; mov x29, sp */
	0xd63f0060,
	0xa8c17bfd, /* blr x3; ldp x29, x30, [sp], 16 */
	0xd65f03c0,
};
#else
#error "no machine code for this architecture"
#endif

/* Its own use of the register that else is a frame pointer. */
NOINLINE uint64_t evaluate(uint64_t x)
{
#if defined(__x86_64__)
	__asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
#endif
	return burn(x, STEPS);
}

int main(int argc, char **argv)
{
	uint64_t x = 2, end_ns = deadline_in(number_arg(argc, argv, 1, 60));
	void *copy =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return 1;
	memcpy(copy, code, sizeof(code));
	__builtin___clear_cache((char *)copy, (char *)copy + sizeof(code));
	if (mprotect(copy, PAGE_BYTES, PROT_READ | PROT_EXEC))
		return 1;
	while (!is_past(end_ns))
		x = ((trampoline)copy)(x, NULL, 0, evaluate);
	return x == 0;
}
