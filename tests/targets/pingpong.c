/* SPDX-License-Identifier: Apache-2.0 */
/* pingpong.c - two processes on one CPU, each of which waits for the other.
 * Usage: pingpong SWITCHES [CPU]
 * Prints `ns CPU_TIME wall ELAPSED`: of both, for so many switches from one to the other.
 *
 * BUILD: -O2 -g -D_GNU_SOURCE
 */
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Both sides: a byte in, a byte out. */
static int exchange(int in, int out, unsigned long turns)
{
	char byte = 0;

	while (turns-- > 0)
		if (read(in, &byte, 1) != 1 || write(out, &byte, 1) != 1)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long turns = number_arg(argc, argv, 1, 400000) / 2;
	uint64_t began_ns, cpu_ns, other_ns = 0;
	int there[2], back[2], result[2];
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(number_arg(argc, argv, 2, 0), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0 || pipe(there) < 0 || pipe(back) < 0 ||
		pipe(result) < 0)
		return 1;
	began_ns = ns_of(CLOCK_MONOTONIC);
	if (fork() == 0) {
		int bad = exchange(there[0], back[1], turns);

		cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
		return bad || write(result[1], &cpu_ns, sizeof(cpu_ns)) != sizeof(cpu_ns);
	}
	if (write(there[1], "", 1) != 1 || exchange(back[0], there[1], turns))
		return 1;
	cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
	if (read(result[0], &other_ns, sizeof(other_ns)) != sizeof(other_ns))
		return 1;
	printf("ns %llu wall %llu\n", (unsigned long long)(cpu_ns + other_ns),
		(unsigned long long)(ns_of(CLOCK_MONOTONIC) - began_ns));
	return 0;
}
