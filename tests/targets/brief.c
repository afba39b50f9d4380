/* SPDX-License-Identifier: Apache-2.0 */
/* brief.c - four threads that start one thread after the other, which sleeps 30 ms and ends, and
 * one thread in an event loop where nothing happens.
 *
 * BUILD: -O1 -g -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#include "burn.h"

NOINLINE static void *brief_sleep(void *ctx)
{
	const struct timespec pause = { 0, 30000000 };

	nanosleep(&pause, NULL);
	return ctx;
}

NOINLINE static void *start_briefs(void *ctx)
{
	pthread_t thread;

	while (pthread_create(&thread, NULL, brief_sleep, ctx) == 0)
		pthread_join(thread, NULL);
	return ctx;
}

NOINLINE static void *event_loop(void *ctx)
{
	struct epoll_event event;

	for (int fd = epoll_create1(0);;)
		epoll_wait(fd, &event, 1, 1000);
	return ctx;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, event_loop, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, start_briefs, NULL);
	puts("ready");
	fflush(stdout);
	start_briefs(NULL);
	return 0;
}
