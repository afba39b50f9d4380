/* SPDX-License-Identifier: Apache-2.0 */
/* randomstacks.c - two functions call each other, or themselves, at random, and the last one burns
 * for a moment: deep stacks are all different.
 * Usage: randomstacks [SECONDS [DEPTH [NAMES]]], 500 calls deep by default. NAMES: its thread has
 * one of so many names each time.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "burn.h"

static uint32_t now;

static uint32_t any(uint32_t below)
{
	now ^= now << 13;
	now ^= now >> 17;
	now ^= now << 5;
	return now % below;
}

NOINLINE uint64_t random_left(uint64_t x, unsigned int depth);

NOINLINE uint64_t random_right(uint64_t x, unsigned int depth)
{
	if (depth == 0)
		return burn(x, 20000);
	if (any(2))
		return random_left(x + 1, depth - 1) + 1;
	return random_right(x + 2, depth - 1) + 2;
}

NOINLINE uint64_t random_left(uint64_t x, unsigned int depth)
{
	if (depth == 0)
		return burn(x, 20000);
	if (any(2))
		return random_left(x + 3, depth - 1) + 3;
	return random_right(x + 4, depth - 1) + 4;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;
	unsigned int depth = (unsigned int)number_arg(argc, argv, 2, 500);
	uint32_t names = (uint32_t)number_arg(argc, argv, 3, 0);
	char name[16];

	now = (uint32_t)getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (!is_past(end)) {
		if (names > 0) {
			snprintf(name, sizeof(name), "any-%08x", any(names));
			prctl(PR_SET_NAME, name);
		}
		x = random_left(x, depth);
	}
	return x == 0;
}
