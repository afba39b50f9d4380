/* SPDX-License-Identifier: Apache-2.0 */
/* large.c - calls a leaf through eleven functions of large.S that lie far from each other, again
 * and again.
 *
 *     large FUNCTIONS ROUNDS    rounds of about a millisecond */
#include <stdio.h>
#include <stdlib.h>

#define WAY 11
#define FUNCTION_BYTES 16

extern char large_first[];
static volatile unsigned long sum;

static void __attribute__((noinline)) leaf(void **rest)
{
	(void)rest;
	for (unsigned long i = 0; i < 1000000; i++)
		sum += i;
}

int main(int argc, char **argv)
{
	unsigned long functions = argc > 2 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	void *way[WAY + 1];

	if (functions < WAY) {
		fprintf(stderr, "usage: large FUNCTIONS ROUNDS\n");
		return 2;
	}
	for (unsigned long i = 0; i < WAY; i++)
		way[i] = large_first + i * (functions / WAY) * FUNCTION_BYTES;
	way[WAY] = (void *)leaf;
	for (unsigned long i = 0; i < rounds; i++)
		((void (*)(void **))way[0])(way + 1);
	return 0;
}
