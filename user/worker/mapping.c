/* SPDX-License-Identifier: Apache-2.0 */
/* worker/mapping.c - files are mapped, not read: they may have gigabytes, of which little is
 * needed. A SIGBUS handler has no context, so the thread keeps a list of its mappings. The handler
 * replaces the whole mapping by zeros, not one page: a million missing pages would cost a million
 * signals.
 * A file in memory (tmpfs) cannot be mapped: whoever reads its holes that way fills them, and pays
 * for the memory as long as the file is there. Its place is reserved, and each part is copied when
 * it is touched, by a SIGSEGV handler. A read(2) fills no holes. */
#include "worker/mapping.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "worker/worker.h"

#define HOLES_PART 8
#define BLOCK_BYTES 512           /* of st_blocks */
#define PART_BYTES (64UL << 10)   /* of a copy: 4 GiB of them are less than a process may have */

struct watch {
	uintptr_t start;
	size_t len; /* 0: free */
	int fd;     /* of a file that is copied; -1: it is mapped */
	volatile sig_atomic_t torn;
};

static _Thread_local struct watch watches[MAPPINGS_MAX];

/* ---- faults ---------------------------------------------------------------------------------- */

static bool put(const struct watch *w, size_t from, size_t to, int protection)
{
	return mmap((void *)(w->start + from), to - from, protection,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		       0) != MAP_FAILED;
}

static void read_part(struct watch *w, size_t from, size_t to)
{
	while (from < to) {
		ssize_t got = pread(w->fd, (void *)(w->start + from), to - from, (off_t)from);

		if (got <= 0) {
			w->torn = 1;
			return;
		}
		from += (size_t)got;
	}
}

/* Holes stay the kernel's page of zeros. */
static bool copy_part(struct watch *w, size_t at)
{
	size_t from = at / PART_BYTES * PART_BYTES, to = from + PART_BYTES;
	off_t data = lseek(w->fd, (off_t)from, SEEK_DATA);
	size_t data_at = data < 0 ? w->len : (size_t)data;

	to = to < w->len ? to : w->len;
	w->torn |= lseek(w->fd, 0, SEEK_END) < (off_t)to;
	if (data_at >= to)
		return put(w, from, data < 0 ? w->len : data_at / PART_BYTES * PART_BYTES,
			PROT_READ);
	if (!put(w, from, to, PROT_READ | PROT_WRITE))
		return false;
	read_part(w, from, to);
	return mprotect((void *)(w->start + from), to - from, PROT_READ) == 0;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)context;
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		struct watch *w = &watches[i];

		if (at - w->start >= w->len)
			continue;
		if (w->fd >= 0 ? copy_part(w, at - w->start) : put(w, 0, w->len, PROT_READ)) {
			w->torn |= w->fd < 0;
			return;
		}
		_exit(WORKER_EXIT_FAULT);
	}
	if (number == SIGSEGV)
		abort();
	_exit(WORKER_EXIT_FAULT);
}

int mapping_catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	return sigaction(SIGBUS, &action, NULL) < 0 || sigaction(SIGSEGV, &action, NULL) < 0
		? -errno
		: 0;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool has_holes(const struct stat *st, uint64_t part)
{
	return (uint64_t)st->st_blocks * BLOCK_BYTES < (uint64_t)st->st_size / part;
}

/* A user may mount a ramfs, whose holes are filled by read(2), too; what is root's may be the root
 * of a small system. An overlay may have a tmpfs below. */
static enum worker_status judge(int fd, const struct stat *st, bool *copied)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return WORKER_UNREADABLE;
	*copied = fs.f_type == TMPFS_MAGIC ||
		(fs.f_type == OVERLAYFS_SUPER_MAGIC && has_holes(st, 1));
	if (fs.f_type == HUGETLBFS_MAGIC || (fs.f_type == RAMFS_MAGIC && st->st_uid != 0))
		return WORKER_UNREADABLE;
	return WORKER_OK;
}

static void *reserve(int fd, size_t len, bool copied)
{
	return copied ? mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				0)
		      : mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
}

enum worker_status mapping_open(int fd, struct mapping *out)
{
	enum worker_status status;
	struct stat st;
	size_t slot = 0;
	bool copied;
	void *data;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return WORKER_UNREADABLE;
	if (st.st_size == 0)
		return WORKER_NOT_ELF;
	if ((uint64_t)st.st_size > MAPPING_BYTES_MAX)
		return WORKER_TOO_LARGE;
	status = judge(fd, &st, &copied);
	if (status != WORKER_OK)
		return status;
	while (slot < MAPPINGS_MAX && watches[slot].len > 0)
		slot++;
	fd = copied && slot < MAPPINGS_MAX ? dup(fd) : fd;
	if (slot == MAPPINGS_MAX || fd < 0)
		return WORKER_MEMORY;
	data = reserve(fd, (size_t)st.st_size, copied);
	if (data == MAP_FAILED) {
		if (copied)
			close(fd);
		return WORKER_UNREADABLE;
	}
	/* Reading ahead would fill the holes with pages of zeros: a gigabyte takes seconds. */
	if (!copied && has_holes(&st, HOLES_PART))
		madvise(data, (size_t)st.st_size, MADV_RANDOM);
	watches[slot] = (struct watch){ .start = (uintptr_t)data,
		.len = (size_t)st.st_size,
		.fd = copied ? fd : -1 };
	*out = (struct mapping){ data, (size_t)st.st_size, slot };
	return WORKER_OK;
}

void mapping_done(struct mapping *mapping)
{
	if (mapping->len == 0)
		return;
	munmap((void *)mapping->data, mapping->len);
	if (watches[mapping->slot].fd >= 0)
		close(watches[mapping->slot].fd);
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
	if (mapping->len == 0)
		return;
	if (watches[mapping->slot].fd >= 0)
		put(&watches[mapping->slot], 0, mapping->len, PROT_NONE);
	else
		madvise((void *)mapping->data, mapping->len, MADV_DONTNEED);
}
