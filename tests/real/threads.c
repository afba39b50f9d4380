/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - one thread after another, each gone at once: many samples fall on the first
 * instructions of a thread, whose stack holds nothing yet. Usage: threads [SECONDS] */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	pthread_t thread;

	while (time(NULL) < end)
		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}
