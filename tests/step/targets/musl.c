/* SPDX-License-Identifier: Apache-2.0 */
/* musl.c - handlers of musl's, whose code has no tables, at any instruction: on the same stack and
 * on another, one in another, and on a realigned stack.
 * BUILD o2: musl-gcc -O2 -DFLAGS=SA_NODEFER
 * BUILD other-stack: musl-gcc -O2 -DFLAGS=SA_ONSTACK
 * BUILD static: musl-gcc -O2 -static -DFLAGS=SA_NODEFER
 * FROM work_all
 * SIGNAL 97 */
#include <signal.h>
#include <stdint.h>
#include <string.h>

static volatile sig_atomic_t handled, depth;
static char other[65536] __attribute__((aligned(4096)));

__attribute__((noinline)) static int work(int n, int seed)
{
	volatile int room[8];

	room[n & 7] = seed;
	return n > 0 ? work(n - 1, seed * 3 + 1) + room[n & 7] : seed;
}

__attribute__((noinline)) static int aligned(int n)
{
	volatile int wide[16] __attribute__((aligned(32)));

	wide[n & 15] = work(n & 3, n);
	return wide[n & 15] + ((uintptr_t)wide & 31 ? 1000 : 0);
}

/* The stepper's signals come here too, so they nest. */
static void handler(int sig)
{
	if (++depth < 3)
		handled += aligned(sig) != 0;
	depth--;
}

/* Without musl's own code, which the walk can only guess at. */
__attribute__((noreturn)) static void leave(int status)
{
	__asm__ volatile("syscall" : : "a"(231), "D"(status) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__attribute__((noinline)) int work_all(void)
{
	int sum = 0;

	for (int i = 0; i < 200; i++)
		sum += aligned(i);
	leave(sum == 77 || handled < 10);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = FLAGS };
	stack_t stack = { .ss_sp = other + 4096, .ss_size = sizeof(other) - 8192 };

	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	return work_all();
}
