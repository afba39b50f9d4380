/* SPDX-License-Identifier: Apache-2.0 */
/* largeframe.c - a busy leaf below a frame of 0.75 MB, for so much CPU time. Usage:
 * largeframe [MILLISECONDS [thread]], 100 by default; `thread`: in a thread whose TLS is larger
 * than what BPF copies of the root end of a stack.
 * The chain is outer;large_frame;inner;frame_leaf, below main or begin.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread
 */
#include <pthread.h>
#include <string.h>

#include "burn.h"

#define FRAME_BYTES (768 * 1024)
#define TLS_BYTES 32768

static __thread uint8_t tls[TLS_BYTES];

NOINLINE uint64_t frame_leaf(uint64_t x)
{
	return burn(x, 20000);
}

NOINLINE uint64_t inner(uint64_t x)
{
	return frame_leaf(x) + 1;
}

NOINLINE uint64_t large_frame(uint64_t x, uint64_t budget_ns)
{
	volatile uint8_t touched[FRAME_BYTES];

	for (size_t i = 0; i < sizeof(touched); i += 512)
		touched[i] = (uint8_t)x;
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < budget_ns)
		x = inner(x) + touched[x % sizeof(touched)];
	return x;
}

NOINLINE uint64_t outer(uint64_t x, uint64_t budget_ns)
{
	return large_frame(x, budget_ns) + 1;
}

static void *begin(void *budget_ns)
{
	memset(tls, 1, sizeof(tls));
	tls[0] = (uint8_t)outer(tls[1], *(uint64_t *)budget_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t budget_ns = (uint64_t)(number_arg(argc, argv, 1, 100) * 1e6);
	pthread_t thread;

	if (argc < 3)
		return outer(1, budget_ns) == 0;
	return pthread_create(&thread, NULL, begin, &budget_ns) || pthread_join(thread, NULL);
}
