/* SPDX-License-Identifier: Apache-2.0 */
/* stuck.c - a deadlocked pair of threads, in take_b below first and take_a below second, 200 that
 * were forgotten, in leaked below leak, and 10 that sleep a millisecond at a time, in often.
 * Usage: stuck SECONDS
 *
 * BUILD: -std=gnu11 -O1 -D_GNU_SOURCE -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "burn.h"

#define LEAKED 200
#define OFTEN 10

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

__attribute__((noinline)) static void take_b(void)
{
	pthread_mutex_lock(&b);
	puts("b");
}

__attribute__((noinline)) static void take_a(void)
{
	pthread_mutex_lock(&a);
	puts("a");
}

static void *first(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	take_b();
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	take_a();
	return arg;
}

__attribute__((noinline)) static void leaked(void)
{
	for (;;)
		pause();
}

static void *leak(void *arg)
{
	leaked();
	return arg;
}

static void *often(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (;;)
		nanosleep(&pause, NULL);
	return arg;
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	pthread_barrier_init(&both, NULL, 2);
	start(first);
	start(second);
	for (int i = 0; i < LEAKED; i++)
		start(leak);
	for (int i = 0; i < OFTEN; i++)
		start(often);
	puts("ready");
	fflush(stdout);
	alarm((unsigned)atoi(argv[1]));
	pause();
}
