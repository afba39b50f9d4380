/* SPDX-License-Identifier: Apache-2.0 */
/* headless.c - a program whose main thread ends, while another one burns CPU in spin_here. It
 * ends with its parent.
 *
 * BUILD: -O1 -g -pthread
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>

NOINLINE uint64_t spin_here(uint64_t x)
{
	return burn(x, 2000000);
}

static void *run(void *arg)
{
	uint64_t deadline = deadline_in(60), x = 1;

	(void)arg;
	while (!is_past(deadline))
		x = spin_here(x);
	exit((int)(x & 1));
}

int main(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
