/* SPDX-License-Identifier: Apache-2.0 */
/* contexts.c - two coroutines of makecontext() that run by turns, for ever. The first function of
 * each returns to an address that no call pushed. */
#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES 65536

static ucontext_t contexts[2];
static volatile long sum;

static void __attribute__((noinline)) work(void)
{
	for (int i = 0; i < 100000; i++)
		sum += i;
}

static void coroutine(int which)
{
	for (;;) {
		work();
		swapcontext(&contexts[which], &contexts[!which]);
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK_BYTES);
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	setcontext(&contexts[0]);
	return 1;
}
