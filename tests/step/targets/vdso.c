/* SPDX-License-Identifier: Apache-2.0 */
/* vdso.c - the functions that the kernel maps into every process.
 * BUILD o2: gcc -O2
 * FROM main */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/time.h>
#include <time.h>

int main(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
		CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI,
		CLOCK_PROCESS_CPUTIME_ID };
	struct timespec t;
	struct timeval tv;
	unsigned int cpu;
	int bad = 0;

	for (int i = 0; i < 20; i++) {
		for (unsigned int c = 0; c < sizeof(clocks) / sizeof(*clocks); c++)
			bad |= clock_gettime(clocks[c], &t) | clock_getres(clocks[c], &t);
		bad |= gettimeofday(&tv, NULL) | (time(NULL) == 0) | getcpu(&cpu, NULL);
	}
	return bad;
}
