/* SPDX-License-Identifier: Apache-2.0 */
/* skewed_clock.c - a library for LD_PRELOAD: CLOCK_REALTIME is off by as many seconds as the file
 * $SKEW says, now; other clocks, which nobody can set, are as they are.
 *
 * BUILD: -shared -fPIC -O1 -D_GNU_SOURCE
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long skew_seconds(void)
{
	const char *path = getenv("SKEW");
	FILE *file = path ? fopen(path, "re") : NULL;
	long seconds = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%ld", &seconds) != 1)
		seconds = 0;
	fclose(file);
	return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	long result = syscall(SYS_clock_gettime, clock, out);

	if (result == 0 && clock == CLOCK_REALTIME)
		out->tv_sec += skew_seconds();
	return (int)result;
}
