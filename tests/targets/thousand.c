/* SPDX-License-Identifier: Apache-2.0 */
/* thousand.c - a busy leaf under a recursion through a thousand functions, whose text and stack are
 * larger than a second-level cache. Usage: thousand [SECONDS [DEPTH]], 100000 deep by default.
 * The chain is main;thousand_main;step_N x DEPTH;thousand_leaf. No frame pointers.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include <pthread.h>

#include "burn.h"

#define STACK_BYTES (64UL << 20)
#define FUNCTIONS 1000

#ifdef __aarch64__
#define OVER_PADDING "b 1f\n.skip 2048\n1:"
#else
#define OVER_PADDING "jmp 1f\n.skip 2048\n1:"
#endif

typedef uint64_t step(unsigned int depth, uint64_t x);

NOINLINE uint64_t thousand_leaf(uint64_t x)
{
	return burn(x, 1000000);
}

static step *const steps[FUNCTIONS];

/* The next function is never one of the neighbours: 389 and 1000 have no common divisor. */
#define ONE(n)                                                                     \
	NOINLINE uint64_t step_##n(unsigned int depth, uint64_t x)                 \
	{                                                                          \
		volatile uint64_t kept[3] = { x, depth, 1 };                       \
                                                                                   \
		__asm__ volatile(OVER_PADDING);                                    \
		if (depth > 1)                                                     \
			x = steps[depth * 389UL % FUNCTIONS](depth - 1, x ^ 1##n); \
		else                                                               \
			x = thousand_leaf(x);                                      \
		return x + kept[2];                                                \
	}
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define TEN_OF(X, n) TEN(X, n)
#define HUNDRED(X, n)   \
	TEN_OF(X, n##0) \
	TEN_OF(X, n##1) \
	TEN_OF(X, n##2) \
	TEN_OF(X, n##3) \
	TEN_OF(X, n##4) \
	TEN_OF(X, n##5) \
	TEN_OF(X, n##6) TEN_OF(X, n##7) TEN_OF(X, n##8) TEN_OF(X, n##9)
#define THOUSAND(X)   \
	HUNDRED(X, 0) \
	HUNDRED(X, 1) \
	HUNDRED(X, 2) \
	HUNDRED(X, 3) \
	HUNDRED(X, 4) \
	HUNDRED(X, 5) HUNDRED(X, 6) HUNDRED(X, 7) HUNDRED(X, 8) HUNDRED(X, 9)
#define NAME(n) step_##n,

THOUSAND(ONE)
static step *const steps[FUNCTIONS] = { THOUSAND(NAME) };

struct run {
	uint64_t end;
	unsigned int depth;
};

NOINLINE void *thousand_main(void *arg)
{
	const struct run *run = arg;
	uint64_t x = 1;

	while (!is_past(run->end))
		x = steps[(run->depth + 1) * 389UL % FUNCTIONS](run->depth, x);
	return x == 0 ? arg : NULL;
}

int main(int argc, char **argv)
{
	struct run run = { deadline_in(number_arg(argc, argv, 1, 60)),
		(unsigned int)number_arg(argc, argv, 2, 100000) };
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK_BYTES) ||
		pthread_create(&thread, &attr, thousand_main, &run))
		return 1;
	return pthread_join(thread, NULL) != 0;
}
