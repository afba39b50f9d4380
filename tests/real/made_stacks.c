/* SPDX-License-Identifier: Apache-2.0 */
/* made_stacks.c - two ways to begin on a stack of one's own: children by clone(), whose wrapper in
 * the C library has code that no table covers, and a coroutine that has a function's address on top
 * of its stack, which no call led to. In front of that function there is another, at whose end no
 * call returns. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define STACK_BYTES 65536
#define GUARD_BYTES 4096

void switch_to(void **from, void *to);
void neighbour(void);
void outermost(void);

__asm__(".text\n"
	".type switch_to, @function\n"
	"switch_to: .cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size switch_to, . - switch_to\n"
	".type neighbour, @function\n"
	"neighbour: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call abort@plt\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".size neighbour, . - neighbour\n"
	".type outermost, @function\n"
	"outermost: .cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	call abort@plt\n"
	"	.cfi_endproc\n"
	".size outermost, . - outermost\n");

static volatile long sum;
static void *main_sp, *coroutine_sp;

static __attribute__((noinline)) void work(long n)
{
	for (long i = 0; i < n; i++)
		sum += i * i;
}

static void coroutine(void)
{
	for (;;) {
		work(20000);
		switch_to(&coroutine_sp, main_sp);
	}
}

static int child(void *arg)
{
	(void)arg;
	work(2000);
	return 0;
}

/* Its top. A guard above it keeps the kernel from joining it with other memory. */
static char *new_stack(void)
{
	char *stack = mmap(NULL, STACK_BYTES + 2 * GUARD_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE);
	return stack + GUARD_BYTES + STACK_BYTES;
}

int main(void)
{
	void **top = (void **)(void *)new_stack() - 2; /* zeros */
	char *stack = new_stack();

	*--top = (void *)outermost;
	*--top = (void *)coroutine;
	coroutine_sp = top - 2;
	for (;;) {
		switch_to(&main_sp, coroutine_sp);
		if (clone(child, stack, CLONE_VM | SIGCHLD, NULL) > 0)
			wait(NULL);
	}
}
