/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - the shapes that compilers give to frames: with room of a size that is not known,
 * realigned, large, shrink-wrapped, cold, left by jumps and by calls that do not return.
 * BUILD o0: gcc -O0
 * BUILD o1: gcc -O1 -fomit-frame-pointer
 * BUILD o2: gcc -O2
 * BUILD o3-avx2: gcc -O3 -mavx2
 * BUILD os: gcc -Os
 * BUILD realign: gcc -O2 -mstackrealign
 * BUILD realign-o0: gcc -O0 -mstackrealign -mavx2
 * BUILD clash: gcc -O2 -fstack-clash-protection -fcf-protection=full -fstack-protector-strong
 * BUILD fp: gcc -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
 * BUILD out-args: gcc -O2 -maccumulate-outgoing-args
 * BUILD debug-frame: gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -g
 * BUILD clang-o0: clang -O0
 * BUILD clang-o2: clang -O2
 * BUILD clang-o3-avx2: clang -O3 -mavx2
 * BUILD clang-os: clang -Os
 * BUILD clang-realign: clang -O2 -mstackrealign
 * BUILD clang-fp: clang -O2 -fno-omit-frame-pointer
 * BUILD static: gcc -O2 -static
 * FROM main */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float vector __attribute__((vector_size(32)));

static volatile int sink;
static jmp_buf out;

__attribute__((noinline)) static int leaf(int a)
{
	return a * 3 + sink;
}

/* Calls what does not return as its last instruction: the return address is behind its end. */
__attribute__((noinline, noreturn)) static void leave(int how)
{
	longjmp(out, how);
}

__attribute__((noinline, noreturn)) static void leave_by_way(int how)
{
	sink++;
	leave(how + 1);
}

__attribute__((noinline)) static int variable_length(int n)
{
	char room[n];

	memset(room, n, n);
	return leaf(room[n / 2]) + room[0];
}

__attribute__((noinline)) static int grows(int n)
{
	char *room = NULL;

	for (int i = 1; i < n; i++) {
		room = alloca(i * 8);
		room[0] = (char)i;
		sink += leaf(room[0]);
	}
	return room ? room[0] : 0;
}

__attribute__((noinline)) static int aligned(int n, vector *out_vector)
{
	vector wide[4] __attribute__((aligned(64)));
	char room[n + 1];

	for (int i = 0; i < 4; i++)
		wide[i] = out_vector[0] + (float)i;
	memset(room, n, n + 1);
	sink += leaf(room[n]);
	out_vector[0] = wide[n & 3];
	return ((uintptr_t)wide & 63) != 0;
}

__attribute__((noinline)) static int aligned_many(
	int a, int b, int c, int d, int e, int f, int g, int h, vector *out_vector)
{
	int wide[32] __attribute__((aligned(128)));

	for (int i = 0; i < 32; i++)
		wide[i] = a + b * c - d + e * f + i;
	wide[g & 31] = leaf(h);
	return aligned(wide[3] & 15, out_vector) + wide[g & 31];
}

__attribute__((noinline)) static int large(int n)
{
	char room[70000];

	room[0] = room[sizeof(room) - 1] = (char)n;
	return leaf(room[n & 1 ? sizeof(room) - 1 : 0]);
}

__attribute__((noinline)) static double variadic(int n, ...)
{
	double sum = 0;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += i & 1 ? va_arg(ap, double) : va_arg(ap, int);
	va_end(ap);
	return sum + leaf(n);
}

__attribute__((noinline, cold)) static int unlikely(int n)
{
	return leaf(n) + leaf(n + 1);
}

/* Registers are saved on one way through only. */
__attribute__((noinline)) static int wrapped(int *values, int n)
{
	int sum = 0;

	if (!values)
		return -1;
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(values[i] > 1000, 0))
			sum += unlikely(i);
		sum += leaf(values[i]) * values[(i + 1) % n] + values[(i + 2) % n];
	}
	return sum;
}

__attribute__((noinline)) static int chooses(int n)
{
	switch (n) {
	case 0:
		return leaf(1);
	case 1:
		return leaf(2) + leaf(3);
	case 2:
		return large(4);
	case 3:
		return variable_length(5) + 1;
	case 4:
		return unlikely(6);
	case 5:
		return grows(3) * leaf(7);
	default:
		return -1;
	}
}

__attribute__((noinline)) static int tail(int n)
{
	return n & 1 ? leaf(n) : chooses(n);
}

__attribute__((noinline, ms_abi)) static int other_convention(int a, double b, vector *v)
{
	return leaf(a + (int)b) + aligned(a & 7, v);
}

__attribute__((noinline)) static uint64_t recursive(int n, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * 3 + b, y = b ^ c << 3, z = c + a;

	return n == 0 ? x + y : recursive(n - 1, x, y, z) * z + recursive(0, y, z, x) + y;
}

int main(void)
{
	int values[16];
	volatile int sum = 0;
	vector v = { 1, 2, 3 };

	for (int i = 0; i < 16; i++)
		values[i] = i * 150 % 1900;
	for (int i = 0; i < 7; i++)
		sum += chooses(i) + tail(i) + variable_length(i + 1);
	sum += grows(12) + large(3) + wrapped(values, 16) + wrapped(NULL, 0);
	sum += aligned_many(1, 2, 3, 4, 5, 6, 7, 8, &v) + other_convention(3, 2.5, &v);
	sum += (int)variadic(5, 1, 2.0, 3, 4.0, 5) + (int)recursive(30, 1, 2, 3);
	if (setjmp(out) == 0)
		leave_by_way(sum & 3);
	return sink == 0 || sum == 0x12345;
}
