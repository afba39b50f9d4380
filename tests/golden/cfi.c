/* SPDX-License-Identifier: Apache-2.0 */
/* The source of cfi-x86_64.so and cfi-arm64.so: small libraries with the call frame shapes that the
 * row compiler must know. Made once, and kept as they are, by
 *     gcc -O2 -mavx2 -shared -fPIC -nostdlib -fcf-protection=none -Wl,-z,lazy
 *         -Wl,-z,noseparate-code -Wl,--build-id=none -s cfi.c -o cfi-x86_64.so
 *     clang --target=aarch64-linux-gnu -O2 -mbranch-protection=pac-ret+leaf -shared -fPIC -nostdlib
 *         -fuse-ld=lld -Wl,--build-id=none -s cfi.c -o cfi-arm64.so */
extern int other(void *, int);

int leaf(int x)
{
	return x * 3;
}

int saves(int a, int b)
{
	return other(&a, b) + other(&b, a) * a + b;
}

/* The stack is realigned: the CFA is read from memory, the frame pointer is saved at itself. */
int realigned(int n)
{
	int wide[64] __attribute__((aligned(64)));
	char room[n];

	return other(wide, n) + other(room, n) + wide[3];
}

/* A frame whose end is more than 32 KiB from its return address. */
int large(int n)
{
	char room[60000];

	return other(room, n) + room[n];
}

__attribute__((naked, noinline)) void outermost(void)
{
#ifdef __x86_64__
	__asm__(".cfi_undefined rip; call other; ud2");
#else
	__asm__(".cfi_undefined x30; bl other; brk 0");
#endif
}
