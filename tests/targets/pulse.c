/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.c - works for some seconds, sleeps for some, and so on. Usage: pulse [WORK [SLEEP]]
 *
 * BUILD: -O1 -g
 */
#include "burn.h"

NOINLINE uint64_t works(uint64_t x)
{
	return burn(x, 20000);
}

int main(int argc, char **argv)
{
	uint64_t work_ns = (uint64_t)(number_arg(argc, argv, 1, 5) * 1e9), x = 1;
	uint64_t sleep_ns = (uint64_t)(number_arg(argc, argv, 2, 4) * 1e9);

	for (;;) {
		const struct timespec pause = { (time_t)(sleep_ns / 1000000000),
			(long)(sleep_ns % 1000000000) };
		uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + work_ns;

		while (clock_ns(CLOCK_MONOTONIC) < until_ns)
			x = works(x);
		nanosleep(&pause, NULL);
	}
	return x == 0;
}
