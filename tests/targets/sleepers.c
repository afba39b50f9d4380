/* SPDX-License-Identifier: Apache-2.0 */
/* sleepers.c - threads that do nothing at all.
 * Usage: sleepers SECONDS [THREADS [SWITCHING]], 200 threads by default; so many of them, none by
 * default, wake up ten times a second. Prints `ready` once all are there.
 *
 * BUILD: -O1 -g -D_GNU_SOURCE
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "burn.h"

#define STACK_BYTES (64UL << 10)

static void *do_nothing(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *do_little(void *arg)
{
	for (;;)
		rest(100);
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	unsigned int threads = (unsigned int)number_arg(argc, argv, 2, 200);
	unsigned int switching = (unsigned int)number_arg(argc, argv, 3, 0);
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread, &small, i < switching ? do_little : do_nothing, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	while (!is_past(end))
		rest(100);
	return 0;
}
