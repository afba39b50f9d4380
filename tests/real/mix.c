/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - many shapes of frame in one program: callbacks out of libc, alloca, realigned stacks,
 * signal handlers over running code, formatting, mathematics, the vDSO, tail calls, deep recursion.
 * Built in every way a program can be linked. Usage: mix [SECONDS [THREADS]] */
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define THREADS_MAX 256

static volatile sig_atomic_t interrupts;
static time_t end;

static NOINLINE uint64_t churn(uint64_t x, int turns)
{
	while (turns-- > 0)
		x = (x ^ (x >> 13)) * 0x9e3779b97f4a7c15ULL;
	return x;
}

static void on_alarm(int signal)
{
	(void)signal;
	interrupts += 1 + (int)(churn((uint64_t)interrupts, 20000) & 1);
}

static int by_low_bits(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a & 0xffff, y = *(const uint64_t *)b & 0xffff;

	return (x > y) - (x < y);
}

static NOINLINE uint64_t sorted(uint64_t x)
{
	uint64_t all[512];

	for (size_t i = 0; i < 512; i++)
		all[i] = x = churn(x, 2);
	qsort(all, 512, sizeof(all[0]), by_low_bits);
	return all[x & 511];
}

static NOINLINE uint64_t moved(uint64_t x)
{
	size_t len = 64 + (x & 4095);
	char *text = alloca(len);

	memset(text, 'a' + (int)(x & 7), len - 1);
	text[len - 1] = '\0';
	return x + strlen(text) + (size_t)(strchr(text, 'z') == NULL);
}

static NOINLINE uint64_t realigned(uint64_t x)
{
	_Alignas(64) double wide[64];

	for (size_t i = 0; i < 64; i++)
		wide[i] = sin((double)(x & 0xffff) + (double)i);
	return x + (uint64_t)(int64_t)(pow(fabs(wide[x & 63]), 1.5) * 1000);
}

static NOINLINE uint64_t printed(uint64_t x)
{
	char text[128];

	snprintf(text, sizeof(text), "%llx %.6f %s", (unsigned long long)x, (double)x / 3, "mix");
	return x + strtoull(text, NULL, 16);
}

static NOINLINE uint64_t timed(uint64_t x)
{
	struct timespec now;

	for (int i = 0; i < 50; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return x + (uint64_t)now.tv_nsec;
}

static NOINLINE uint64_t deep(uint64_t x, int depth)
{
	char kept[32];

	memset(kept, (int)x, sizeof(kept));
	if (depth == 0)
		return churn(x, 2000);
	return deep(x + 1, depth - 1) + (uint64_t)kept[x & 31];
}

static uint64_t (*volatile const parts[])(uint64_t) = { sorted, moved, realigned, printed, timed };

static NOINLINE void *work(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;

	while (time(NULL) < end)
		for (size_t i = 0; i < 1000; i++)
			x = i % 8 ? parts[(x >> 7) % 5](x) : deep(x, 60);
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	/* In no step with a sampler's clock, nor with the kernel's. */
	struct itimerval often = { { 0, 4937 }, { 0, 4937 } };
	pthread_t all[THREADS_MAX];

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		if (pthread_create(&all[i], NULL, work, (void *)(uintptr_t)(i + 2)))
			return 1;
	return work((void *)1) == NULL;
}
