/* SPDX-License-Identifier: Apache-2.0 */
/* deep.c - a busy leaf under a recursion. Usage: deep [SECONDS [DEPTH [REST]]], 60 deep by default;
 * it rests for so many ms after each ms of work.
 * The chain is main;descend x DEPTH;deep_leaf. deep_nofp.c is the same without frame pointers.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include "burn.h"

NOINLINE uint64_t deep_leaf(uint64_t x)
{
	return burn(x, 1000000);
}

/* Something to keep across the call, so that no compiler makes a loop of it. */
NOINLINE uint64_t descend(unsigned int depth, uint64_t x)
{
	volatile uint64_t kept[3] = { x, depth, 1 };

	x = depth > 1 ? descend(depth - 1, x) : deep_leaf(x);
	return x + kept[2];
}

int main(int argc, char **argv)
{
	double pause_ms = number_arg(argc, argv, 3, 0);
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;
	unsigned int depth = (unsigned int)number_arg(argc, argv, 2, 60);

	while (!is_past(end))
		rest(pause_ms), x = descend(depth, x);
	return x == 0;
}
