/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/processes.c - a perf map is a file that a stranger writes while we read it. It is a
 * continuation of what we read only if the bytes at both ends of that are still the same; else it
 * was rewritten and is read anew. */
#include "daemon/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/vec.h"
#include "proc/opener.h"
#include "proc/status.h"

#define READ_BYTES 65536
#define MARK_BYTES 64
#define IDLE_INTERVALS 4

/* Bytes of the file as they were when they were read. */
struct mark {
	uint64_t offset;
	size_t len;
	char bytes[MARK_BYTES];
};

struct process {
	struct opener_process id;
	struct status status;
	int tmp_fd;
	int map_fd;
	struct perfmap map;
	uint64_t offset; /* how far the map is read */
	struct timespec mtime;
	struct mark head, tail;
	uint32_t used;
};

struct processes {
	VEC(struct process *) all;
	struct hash by_id;
	uint32_t interval;
	char chunk[READ_BYTES];
};

static uint64_t key_of(uint32_t tgid, uint64_t start_ns)
{
	return hash_mix(start_ns) ^ tgid;
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	fd_close(&p->tmp_fd);
	fd_close(&p->map_fd);
	perfmap_done(&p->map);
	free(p);
}

DEFINE_CLEANUP(struct process, process_free)

int processes_new(struct processes **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	vec_each (&processes->all, p)
		process_free(*p);
	vec_done(&processes->all);
	hash_done(&processes->by_id);
	free(processes);
}

/* The innermost pid first: that is what a program in a container writes. */
static int open_map(const struct process *p, int *fd)
{
	int err = -ENOENT;

	for (uint32_t i = p->status.ns_pids_len; i-- > 0 && err < 0;)
		err = opener_perf_map(p->tmp_fd, &p->id, p->status.ns_pids[i], p->status.euid, fd);
	return err;
}

static int read_status(pid_t pid, struct status *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = fd_read_path(path, READ_BYTES, &text);
	return err < 0 ? err : status_parse(text.data, out);
}

int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	_cleanup_(process_freep) struct process *p = NULL;
	uint64_t key = key_of(tgid, start_ns);
	struct process **slot;
	int err;

	if (hash_find(&processes->by_id, key))
		return 0;
	if (processes->all.len >= PROCESSES_MAX)
		return -ENOSPC;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct process){
		.id = { .pid = (pid_t)tgid, .start_ns = start_ns },
		.tmp_fd = -1,
		.map_fd = -1,
		.used = processes->interval,
	};
	err = perfmap_init(&p->map, &(struct perfmap_limits)PERFMAP_LIMITS);
	if (err < 0)
		return err;
	if (read_status(p->id.pid, &p->status) == 0 && opener_tmp_dir(&p->id, &p->tmp_fd) == 0)
		open_map(p, &p->map_fd);
	slot = vec_add(&processes->all);
	if (!slot)
		return -ENOMEM;
	*slot = TAKE_PTR(p);
	return hash_put(&processes->by_id, key, processes->all.len - 1);
}

void processes_retry(struct processes *processes)
{
	vec_each (&processes->all, p)
		if ((*p)->map_fd < 0 && (*p)->tmp_fd >= 0)
			open_map(*p, &(*p)->map_fd);
}

static bool mark_holds(int fd, const struct mark *mark)
{
	char now[MARK_BYTES];

	return mark->len == 0 ||
		(pread(fd, now, mark->len, (off_t)mark->offset) == (ssize_t)mark->len &&
			memcmp(now, mark->bytes, mark->len) == 0);
}

/* Remembers the bytes at both ends of what was read, now that `len` more were, at p->offset. */
static void set_marks(struct process *p, const char *bytes, size_t len)
{
	size_t tail = len < MARK_BYTES ? len : MARK_BYTES;

	if (p->offset == 0) {
		p->head = (struct mark){ .len = tail };
		memcpy(p->head.bytes, bytes, tail);
	}
	p->tail = (struct mark){ .offset = p->offset + len - tail, .len = tail };
	memcpy(p->tail.bytes, bytes + len - tail, tail);
}

static void restart(struct process *p)
{
	perfmap_reset(&p->map);
	p->offset = 0;
	p->head.len = p->tail.len = 0;
}

/* A map that was removed and made anew is another file under the same name. */
static void follow_replaced(struct process *p)
{
	_cleanup_fd_ int fd = -1;
	struct stat old, now;

	if (p->tmp_fd < 0 || open_map(p, &fd) < 0)
		return;
	if (p->map_fd >= 0 && fstat(p->map_fd, &old) == 0 && fstat(fd, &now) == 0 &&
		old.st_ino == now.st_ino && old.st_dev == now.st_dev)
		return;
	if (p->map_fd >= 0)
		restart(p);
	fd_close(&p->map_fd);
	p->map_fd = TAKE_FD(fd);
}

static void read_map(struct processes *processes, struct process *p)
{
	struct stat st;
	ssize_t len;

	if (fstat(p->map_fd, &st) < 0)
		return;
	if (p->offset > 0 && st.st_mtim.tv_sec == p->mtime.tv_sec &&
		st.st_mtim.tv_nsec == p->mtime.tv_nsec && (uint64_t)st.st_size == p->offset)
		return;
	if ((uint64_t)st.st_size < p->offset || !mark_holds(p->map_fd, &p->head) ||
		!mark_holds(p->map_fd, &p->tail))
		restart(p);
	p->mtime = st.st_mtim;
	while (p->offset < PROCESS_MAP_BYTES_MAX) {
		len = pread(p->map_fd, processes->chunk, READ_BYTES, (off_t)p->offset);
		if (len <= 0)
			return;
		if (perfmap_feed(&p->map, processes->chunk, (size_t)len) < 0)
			return;
		set_marks(p, processes->chunk, (size_t)len);
		p->offset += (uint64_t)len;
	}
}

void processes_refresh(struct processes *processes)
{
	vec_each (&processes->all, p) {
		follow_replaced(*p);
		if ((*p)->map_fd >= 0)
			read_map(processes, *p);
	}
}

void processes_next(struct processes *processes)
{
	processes->interval++;
	for (size_t i = 0; i < processes->all.len;) {
		struct process *p = processes->all.data[i], *last;

		if (processes->interval - p->used <= IDLE_INTERVALS) {
			i++;
			continue;
		}
		last = processes->all.data[--processes->all.len];
		processes->all.data[i] = last;
		hash_put(&processes->by_id, key_of((uint32_t)last->id.pid, last->id.start_ns), i);
		hash_del(&processes->by_id, key_of((uint32_t)p->id.pid, p->id.start_ns));
		process_free(p);
	}
}

struct perfmap *processes_map(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	uint64_t *at = hash_find(&processes->by_id, key_of(tgid, start_ns));
	struct process *p;

	if (!at)
		return NULL;
	p = processes->all.data[*at];
	p->used = processes->interval;
	return p->map_fd >= 0 ? &p->map : NULL;
}
