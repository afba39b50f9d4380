/* SPDX-License-Identifier: Apache-2.0 */
/* burn.h - what the target programs share: work of a known size, and an end.
 * A target's first argument is how many seconds it lives (default 60): none outlives a test run
 * for long, whatever becomes of the test. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

/* One chain of multiplications, each waiting for the one before: its time depends on nothing but
 * the number of steps, wherever the compiler puts the loop. Inlined, so that a caller is a leaf;
 * the local makes it a leaf with a frame, which compilers else leave out even when told to keep
 * frame pointers. */
static inline __attribute__((always_inline)) uint64_t burn(uint64_t x, unsigned int steps)
{
	volatile uint64_t frame = x;

	for (unsigned int i = 0; i < steps; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
	return x + (frame & 1);
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t deadline_in(double seconds)
{
	return clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
}

static inline int is_past(uint64_t deadline_ns)
{
	return clock_ns(CLOCK_MONOTONIC) >= deadline_ns;
}

/* For a program that is busy for a part of its time only. */
static inline void rest(double ms)
{
	struct timespec pause = { (time_t)(ms / 1000), (long)((uint64_t)(ms * 1e6) % 1000000000) };

	if (ms > 0)
		nanosleep(&pause, NULL);
}

/* Argument i as a number, or the default where there is none. */
static inline double number_arg(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? strtod(argv[i], NULL) : otherwise;
}
