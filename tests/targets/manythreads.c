/* SPDX-License-Identifier: Apache-2.0 */
/* manythreads.c - many busy threads of one process, each with its own name (worker-N).
 * Usage: manythreads [SECONDS [THREADS]], 64 threads by default.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "burn.h"

#define THREADS_MAX 1024

struct job {
	pthread_t thread;
	unsigned int number;
	uint64_t end;
};

NOINLINE uint64_t thread_work(uint64_t x)
{
	return burn(x, 200000);
}

NOINLINE void *thread_main(void *arg)
{
	const struct job *job = arg;
	char name[16];
	uint64_t x = 1;

	snprintf(name, sizeof(name), "worker-%u", job->number);
	prctl(PR_SET_NAME, name);
	while (!is_past(job->end))
		x = thread_work(x);
	return x ? NULL : arg;
}

int main(int argc, char **argv)
{
	static struct job jobs[THREADS_MAX];
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));
	unsigned int n = (unsigned int)number_arg(argc, argv, 2, 64), started;

	for (started = 0; started < n && started < THREADS_MAX; started++) {
		jobs[started] = (struct job){ .number = started, .end = end };
		if (pthread_create(&jobs[started].thread, NULL, thread_main, &jobs[started]))
			break;
	}
	for (unsigned int i = 0; i < started; i++)
		pthread_join(jobs[i].thread, NULL);
	return started < n;
}
