/* SPDX-License-Identifier: Apache-2.0 */
/* worker/mapping.c - files are mapped, not read: they may have gigabytes, of which little is
 * needed. A SIGBUS handler has no context, so the thread keeps a list of its mappings. The handler
 * replaces the whole mapping by zeros, not one page: a million missing pages would cost a million
 * signals. */
#include "worker/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/worker.h"

#define HOLES_PART 8
#define BLOCK_BYTES 512 /* of st_blocks */

struct watch {
	uintptr_t start;
	size_t len; /* 0: free */
	volatile sig_atomic_t torn;
};

static _Thread_local struct watch watches[MAPPINGS_MAX];

static void on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)number;
	(void)context;
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		struct watch *w = &watches[i];

		if (at - w->start >= w->len)
			continue;
		w->torn = 1;
		if (mmap((void *)w->start, w->len, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	_exit(WORKER_EXIT_FAULT);
}

int mapping_catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

/* Reading ahead would fill the holes with pages of zeros: a gigabyte of them takes seconds. */
static bool is_mostly_holes(const struct stat *st)
{
	return (uint64_t)st->st_blocks * BLOCK_BYTES < (uint64_t)st->st_size / HOLES_PART;
}

enum worker_status mapping_open(int fd, struct mapping *out)
{
	struct stat st;
	size_t slot = 0;
	void *data;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return WORKER_UNREADABLE;
	if (st.st_size == 0)
		return WORKER_NOT_ELF;
	if ((uint64_t)st.st_size > MAPPING_BYTES_MAX)
		return WORKER_TOO_LARGE;
	while (slot < MAPPINGS_MAX && watches[slot].len > 0)
		slot++;
	if (slot == MAPPINGS_MAX)
		return WORKER_MEMORY;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return WORKER_UNREADABLE;
	if (is_mostly_holes(&st))
		madvise(data, (size_t)st.st_size, MADV_RANDOM);
	watches[slot] = (struct watch){ .start = (uintptr_t)data, .len = (size_t)st.st_size };
	*out = (struct mapping){ data, (size_t)st.st_size, slot };
	return WORKER_OK;
}

void mapping_done(struct mapping *mapping)
{
	if (mapping->len == 0)
		return;
	munmap((void *)mapping->data, mapping->len);
	watches[mapping->slot].len = 0;
	*mapping = (struct mapping)MAPPING_INIT;
}

bool mapping_scarce(void)
{
	size_t used = 0;

	for (size_t slot = 0; slot < MAPPINGS_MAX; slot++)
		used += watches[slot].len > 0;
	return used > MAPPINGS_MAX - MAPPINGS_SPARE;
}

bool mapping_torn(const struct mapping *mapping)
{
	return mapping->len > 0 && watches[mapping->slot].torn;
}

void mapping_forget(const struct mapping *mapping)
{
	if (mapping->len > 0)
		madvise((void *)mapping->data, mapping->len, MADV_DONTNEED);
}
