/* SPDX-License-Identifier: Apache-2.0 */
/* jumps.c - setjmp and longjmp over many frames, and contexts that run by turns.
 * BUILD o2: gcc -O2
 * BUILD o0: gcc -O0
 * BUILD clang: clang -O2
 * FROM main */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES 65536
#define TURNS 6

static jmp_buf out;
static ucontext_t home, contexts[2];
static volatile int turns;

__attribute__((noinline)) static int dive(int n)
{
	char room[40];

	memset(room, n, sizeof(room));
	if (n == 0)
		longjmp(out, 3);
	return dive(n - 1) + room[n % 40];
}

__attribute__((noinline)) static void take_turn(int from, int n)
{
	if (n > 0) {
		take_turn(from, n - 1);
		return;
	}
	turns++;
	swapcontext(&contexts[from], &contexts[!from]);
}

static void coroutine(int which)
{
	for (int i = 0; i < TURNS; i++)
		take_turn(which, i);
}

static void make(int which)
{
	char *memory =
		mmap(NULL, STACK_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory + 4096, STACK_BYTES, PROT_READ | PROT_WRITE);
	getcontext(&contexts[which]);
	contexts[which].uc_stack.ss_sp = memory + 4096;
	contexts[which].uc_stack.ss_size = STACK_BYTES;
	contexts[which].uc_link = &home;
	makecontext(&contexts[which], (void (*)(void))coroutine, 1, which);
}

int main(void)
{
	volatile int jumped = 0;

	for (int i = 0; i < 4; i++) {
		if (setjmp(out) == 0)
			dive(i * 5);
		else
			jumped++;
	}
	if (_setjmp(out) == 0)
		dive(2);
	make(0);
	make(1);
	swapcontext(&home, &contexts[0]);
	return jumped != 4 || turns < TURNS;
}
