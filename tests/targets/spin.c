/* SPDX-License-Identifier: Apache-2.0 */
/* spin.c - one busy function under main. Usage: spin [SECONDS [REST]]
 * It rests for so many ms after each call.
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include "burn.h"

NOINLINE uint64_t spin_here(uint64_t x)
{
	return burn(x, 20000000);
}

int main(int argc, char **argv)
{
	double pause_ms = number_arg(argc, argv, 2, 0);
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60)), x = 1;

	while (!is_past(end))
		rest(pause_ms), x = spin_here(x);
	return x == 0;
}
