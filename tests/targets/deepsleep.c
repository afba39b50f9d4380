/* SPDX-License-Identifier: Apache-2.0 */
/* deepsleep.c - threads with deep stacks that wake up between any two visits: each is walked at
 * each visit, and each walk is long. Prints `ready`.
 * usage: deepsleep SECONDS THREADS DEPTH */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 50000000

static int depth;

__attribute__((noinline)) static int down(int left)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (left > 0)
		return down(left - 1) + 1;
	for (;;)
		nanosleep(&nap, NULL);
}

static void *sleeper(void *ctx)
{
	(void)ctx;
	return down(depth) ? NULL : &depth;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t thread;

	depth = argc > 3 ? atoi(argv[3]) : 100;
	alarm(argc > 1 ? (unsigned int)atoi(argv[1]) : 60);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
