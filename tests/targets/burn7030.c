/* SPDX-License-Identifier: Apache-2.0 */
/* burn7030.c - two functions that share the CPU 70 to 30, by count of equal steps.
 * Usage: burn7030 [SECONDS [THREADS [REST]]]
 * The chain is main;parent;seventy|thirty, and thread_main;parent;... in each of THREADS threads
 * (default none), during which main only waits. REST: ms after each round, of main alone.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <pthread.h>

#include "burn.h"

#define STEPS 150000
#define THREADS_MAX 256

NOINLINE uint64_t seventy(uint64_t x, unsigned int times)
{
	return burn(x, times * 7 * STEPS);
}

NOINLINE uint64_t thirty(uint64_t x, unsigned int times)
{
	return burn(x, times * 3 * STEPS);
}

/* A round lasts some 20 ms, many samples at a few hundred Hz, which keeps the error of a short
 * profile small; 1 to 16 times as long by chance, so that no rate falls into step with it. */
NOINLINE uint64_t parent(uint64_t x)
{
	unsigned int times = 1 + (unsigned int)(x >> 60);

	x = seventy(x, times);
	x = thirty(x, times);
	return x + 1;
}

NOINLINE void *thread_main(void *arg)
{
	const uint64_t *end = arg;
	uint64_t x = 1;

	while (!is_past(*end))
		x = parent(x);
	return x ? NULL : arg;
}

static int run_threads(unsigned int n, uint64_t *end)
{
	pthread_t threads[THREADS_MAX];
	unsigned int started;

	for (started = 0; started < n && started < THREADS_MAX; started++)
		if (pthread_create(&threads[started], NULL, thread_main, end))
			break;
	for (unsigned int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started < n;
}

int main(int argc, char **argv)
{
	double pause_ms = number_arg(argc, argv, 3, 0);
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;
	unsigned int threads = (unsigned int)number_arg(argc, argv, 2, 0);

	if (threads)
		return run_threads(threads, &end);
	while (!is_past(end))
		rest(pause_ms), x = parent(x);
	return x == 0;
}
