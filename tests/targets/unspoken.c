/* SPDX-License-Identifier: Apache-2.0 */
/* unspoken.c - burns CPU time in assembly that has no CFI and keeps no frame pointer, called by
 * code that has CFI and no frame pointer either. Usage: unspoken [MILLISECONDS]
 *
 * BUILD: -O1 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include "burn.h"

uint64_t unspoken(uint64_t x, uint64_t steps);

#if defined(__x86_64__)
/* Two registers and some room above its return address; it calls a leaf of its own kind. */
__asm__(".section .text.unspoken, \"ax\", @progbits\n"
	".balign 64\n"
	".type unspoken_leaf, @function\n"
	"unspoken_leaf:\n"
	"1:	imul $1103515245, %rax\n"
	"	add $12345, %rax\n"
	"	dec %rcx\n"
	"	jnz 1b\n"
	"	ret\n"
	".size unspoken_leaf, . - unspoken_leaf\n"
	".globl unspoken\n"
	".type unspoken, @function\n"
	"unspoken:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	sub $40, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rcx\n"
	"	mov %rsi, %r12\n"
	"	call unspoken_leaf\n"
	"	mov %r12, %rcx\n"
	"2:	imul $1103515245, %rax\n"
	"	add $12345, %rax\n"
	"	dec %rcx\n"
	"	jnz 2b\n"
	"	add $40, %rsp\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	".size unspoken, . - unspoken\n"
	".balign 64\n"
	".previous\n");
#else
uint64_t unspoken(uint64_t x, uint64_t steps)
{
	return burn(x, (unsigned int)steps);
}
#endif

NOINLINE uint64_t spoken(uint64_t x)
{
	volatile uint64_t room[4] = { x };

	return unspoken(room[0], 20000) + room[1];
}

int main(int argc, char **argv)
{
	uint64_t budget_ns = (uint64_t)(number_arg(argc, argv, 1, 100) * 1e6), x = 1;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < budget_ns)
		x = spoken(x);
	return x == 0;
}
