/* SPDX-License-Identifier: Apache-2.0 */
/* shortlived.c - burns 25 ms of CPU time and is gone. Usage: shortlived [MILLISECONDS]
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include "burn.h"

NOINLINE uint64_t brief_work(uint64_t x)
{
	return burn(x, 20000);
}

int main(int argc, char **argv)
{
	uint64_t budget_ns = (uint64_t)(number_arg(argc, argv, 1, 25) * 1e6), x = 1;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < budget_ns)
		x = brief_work(x);
	return x == 0;
}
