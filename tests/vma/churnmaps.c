/* SPDX-License-Identifier: Apache-2.0 */
/* churnmaps.c - a process whose mappings never rest. Usage: churnmaps [SECONDS]
 * One thread maps, splits and unmaps between mappings that stay; the other burns with addresses of
 * the arena on top of its stack, most of them in what stays. Prints `ready` once it does.
 *
 * BUILD: -O1 -g -pthread
 */
#include <linux/types.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/targets/burn.h"
#include "tests/vma/vma_check.h"

#define ROOM_PAGES (CHURN_BLOCK_PAGES - 2) /* beside a page that stays nothing is mapped */
#define WORDS 64
#define STEPS 20000

struct churn {
	uint64_t end_ns;
	int failed;
};

static uint64_t next(uint64_t *x)
{
	*x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
	return *x >> 24;
}

static char *block_at(uint64_t i)
{
	return (char *)(CHURN_START + i % CHURN_BLOCKS * CHURN_BLOCK_BYTES);
}

/* One change: a new mapping over whatever is there, a hole, or other rights for some pages. */
static int change(uint64_t *x)
{
	uint64_t first = next(x) % (ROOM_PAGES - 1), pages = 1 + next(x) % (ROOM_PAGES - 1 - first);
	char *at = block_at(next(x)) + (2 + first) * CHURN_PAGE_BYTES;
	int prot = next(x) % 2 ? PROT_READ : PROT_READ | PROT_WRITE;

	switch (next(x) % 4) {
	case 0:
		return munmap(at, pages * CHURN_PAGE_BYTES);
	case 1:
		mprotect(at, pages * CHURN_PAGE_BYTES, prot); /* fails where there is a hole */
		return 0;
	default:
		return mmap(at, pages * CHURN_PAGE_BYTES, prot,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
	}
}

static void *churn_main(void *arg)
{
	struct churn *churn = arg;
	uint64_t x = 2;

	while (!is_past(churn->end_ns) && !churn->failed)
		churn->failed = change(&x);
	return NULL;
}

NOINLINE uint64_t touch(uint64_t x)
{
	volatile uint64_t words[WORDS];

	for (int i = 0; i < WORDS; i++) {
		words[i] = (uint64_t)block_at(next(&x)) + 8;
		if (i % 4 == 3)
			words[i] += next(&x) % CHURN_BLOCK_BYTES;
	}
	x = burn(x, STEPS);
	return x + words[x % WORDS];
}

int main(int argc, char **argv)
{
	struct churn churn = { .end_ns = deadline_in(number_arg(argc, argv, 1, 60)) };
	pthread_t thread;
	uint64_t x = 1;

	for (uint64_t i = 0; i < CHURN_BLOCKS; i++) {
		if (mmap(block_at(i), CHURN_PAGE_BYTES, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			    0) == MAP_FAILED) {
			perror("churnmaps");
			return 1;
		}
	}
	if (pthread_create(&thread, NULL, churn_main, &churn))
		return 1;
	puts("ready");
	fflush(stdout);
	while (!is_past(churn.end_ns))
		x = touch(x);
	pthread_join(thread, NULL);
	return churn.failed || x == 0;
}
