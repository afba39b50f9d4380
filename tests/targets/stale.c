/* SPDX-License-Identifier: Apache-2.0 */
/* stale.c - burns CPU time in assembly that has no CFI, keeps no frame pointer and leaves its frame
 * by a register, so that its way out says nothing. In its frame an older call left its return
 * address: main;caller;waits. With `near` that call led to the
 * function just before waits, with `far` to one after it.
 * Usage: stale near|far [SECONDS]
 *
 * BUILD: -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include <string.h>

#include "burn.h"

#define STEPS 20000

uint64_t waits(uint64_t x, uint64_t steps);
void leaves_near(void);
void leaves_far(void);

#if defined(__x86_64__)
/* The frames of leaves_* and waits are the same 72 bytes, as one function calls both. */
#define LEAVES(name, called)                            \
	"	.globl " name "\n"                      \
	"	.type " name ", @function\n" name ":\n" \
	"	pushq $0\n	pushq $0\n	pushq $0\n"             \
	"	pushq $0\n	pushq $0\n"                        \
	"	call " called "\n"                      \
	"	add $40, %rsp\n"                              \
	"	ret\n"                                        \
	"	.size " name ", . - " name "\n"

__asm__(".section .text.stale, \"ax\", @progbits\n"
	".balign 64\n"
	".type before, @function\n"
	"before:\n"
	"	pushq $0\n	pushq $0\n	pushq $0\n"
	"	add $24, %rsp\n"
	"	ret\n"
	".size before, . - before\n"
	".globl waits\n"
	".type waits, @function\n"
	"waits:\n"
	"	sub $72, %rsp\n"
	"	mov %rdi, %rax\n"
	"1:	imul $1103515245, %rax\n"
	"	add $12345, %rax\n"
	"	dec %rsi\n"
	"	jnz 1b\n"
	"	mov $72, %ecx\n"
	"	add %rcx, %rsp\n"
	"	ret\n"
	".size waits, . - waits\n"
	".type after, @function\n"
	"after:\n"
	"	pushq $0\n	pushq $0\n	pushq $0\n"
	"	add $24, %rsp\n"
	"	ret\n"
	".size after, . - after\n" LEAVES("leaves_near", "before")
		LEAVES("leaves_far", "after") ".balign 64\n"
					      ".previous\n");
#else
uint64_t waits(uint64_t x, uint64_t steps)
{
	return burn(x, (unsigned int)steps);
}

void leaves_near(void)
{
}

void leaves_far(void)
{
}
#endif

NOINLINE uint64_t caller(uint64_t x, void (*leaves)(void))
{
	leaves();
	return waits(x, STEPS) + 1;
}

int main(int argc, char **argv)
{
	uint64_t x = 2, end_ns = deadline_in(number_arg(argc, argv, 2, 60));

	while (!is_past(end_ns))
		x = caller(x, argc > 1 && strcmp(argv[1], "near") == 0 ? leaves_near : leaves_far);
	return x == 0;
}
