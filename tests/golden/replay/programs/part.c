/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - a file that mill.c maps while it runs, built twice: as late.so, whose table is not there
 * when its first sample comes, and as refused.so, which the recorder does not let the agent open.
 * PART is its entry's name. */
__attribute__((noinline)) static unsigned int stir(unsigned int n)
{
	unsigned int x = n | 1;

	while (n-- > 0)
		x = (x ^ x >> 7) * 2654435761U;
	return x;
}

unsigned int PART(unsigned int n);
unsigned int PART(unsigned int n)
{
	return stir(n) + stir(n / 4) + 1;
}
