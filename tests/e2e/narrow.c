/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.c - a 32-bit process that burns: _start;narrow_parent;narrow_leaf, for some billion steps.
 * Without a C library, because that of another machine is seldom installed.
 *
 * compat.bats builds it, with -m32 and with -mx32.
 */
#define NOINLINE __attribute__((noipa))
#define STEPS 20000
#define ROUNDS 10000000

NOINLINE unsigned int narrow_leaf(unsigned int x)
{
	for (unsigned int i = 0; i < STEPS; i++) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

NOINLINE unsigned int narrow_parent(unsigned int x)
{
	return narrow_leaf(x) + 1;
}

void _start(void)
{
	unsigned int x = 2;

	for (unsigned int i = 0; i < ROUNDS; i++)
		x = narrow_parent(x);
	__builtin_trap();
}
