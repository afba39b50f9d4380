/* SPDX-License-Identifier: Apache-2.0 */
/* absent.c - threads that sleep for ever, whose stacks are not there: whoever reads them waits.
 * Usage: absent SECONDS [forge]
 *     absent-file     50, on private mappings of this program's file; once they sleep, their pages
 *                     are dropped. If the file is a hung file system's, its server is to be asked
 *     absent-fault    50, on memory of a userfaultfd that nobody serves
 *     absent-swap     8, whose pages one thread takes away and puts back, moves and maps anew
 *     absent-safe     1, whose stack stays
 * All sleep in `absent_wait` called by `absent_thread`. Prints `ready PID FILE FAULT SWAP`, the
 * numbers of threads. With `forge` it fills memory with the address of `forged_here`, which nothing
 * calls, and frees it, again and again: who reads a page that was freed sees that.
 *
 * BUILD: -std=gnu11 -O1 -no-pie -fno-omit-frame-pointer -D_GNU_SOURCE
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK (256UL << 10)
#define ABOVE (64UL << 10) /* of a stack's end: the thread's own data, which stays */
#define USED (16UL << 10) /* below that: where the thread sleeps */
#define FORGED (8UL << 20)
#define NOINLINE __attribute__((noinline, noclone))

static int waiting;

NOINLINE void forged_here(void)
{
	__asm__ volatile("nop; nop");
}

NOINLINE static void absent_wait(volatile char *room)
{
	room[0] = 1;
	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static void *absent_thread(void *name)
{
	volatile char room[ABOVE + 8192];

	prctl(PR_SET_NAME, name);
	room[1] = 0;
	absent_wait(room);
	return NULL;
}

static int start_on(char *stack, const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;
	int now = __atomic_load_n(&waiting, __ATOMIC_SEQ_CST), err;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	err = pthread_create(&thread, &attr, absent_thread, (void *)name);
	pthread_attr_destroy(&attr);
	while (err == 0 && __atomic_load_n(&waiting, __ATOMIC_SEQ_CST) == now)
		sched_yield();
	return err;
}

static char *anonymous(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int on_file(int fd)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_FIXED;
	char *stack = anonymous(STACK), *used = stack + STACK - ABOVE - USED;

	if (!stack || mmap(used, USED, prot, flags, fd, 0) != used)
		return -1;
	return start_on(stack, "absent-file") ? -1 : madvise(used, USED, MADV_DONTNEED);
}

static int on_fault(int uffd)
{
	char *stack = anonymous(STACK);
	struct uffdio_register reg = { .range = { (uintptr_t)stack, STACK - ABOVE },
		.mode = UFFDIO_REGISTER_MODE_MISSING };

	if (!stack || start_on(stack, "absent-fault") || ioctl(uffd, UFFDIO_REGISTER, &reg) < 0)
		return -1;
	return madvise(stack, STACK - ABOVE, MADV_DONTNEED);
}

static char *swapped[8];

/* The lowest pages in use of a stack, where the thread sleeps. */
static void *swap_for_ever(void *arg)
{
	size_t from = STACK - ABOVE - USED, len = USED;
	char *copy = anonymous(len), *other;

	(void)arg;
	for (unsigned turn = 0;; turn++) {
		char *at = swapped[turn % 8] + from;

		memcpy(copy, at, len);
		if (turn & 8) {
			madvise(at, len, MADV_DONTNEED);
			memcpy(at, copy, len);
			continue;
		}
		other = anonymous(len);
		memcpy(other, copy, len);
		if (mremap(other, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
			abort();
	}
	return NULL;
}

static void forge(void)
{
	for (;;) {
		uint64_t *words = (uint64_t *)anonymous(FORGED);

		for (size_t i = 0; words && i < FORGED / sizeof(*words); i++)
			words[i] = (uint64_t)(uintptr_t)forged_here + 1;
		munmap(words, FORGED);
	}
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), files = 0, faults = 0, swaps = 0;
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	alarm((unsigned)atoi(argc > 1 ? argv[1] : "60"));
	if (argc > 2 && strcmp(argv[2], "forge") == 0)
		forge();
	if (start_on(anonymous(STACK), "absent-safe"))
		return 1;
	while (files < 50 && fd >= 0 && on_file(fd) == 0)
		files++;
	if (uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0)
		while (faults < 50 && on_fault(uffd) == 0)
			faults++;
	while (swaps < 8 && (swapped[swaps] = anonymous(STACK)) &&
		start_on(swapped[swaps], "absent-swap") == 0)
		swaps++;
	if (swaps == 8 && pthread_create(&thread, NULL, swap_for_ever, NULL))
		return 1;
	printf("ready %d %d %d %d\n", getpid(), files, faults, swaps);
	fflush(stdout);
	for (;;)
		pause();
}
