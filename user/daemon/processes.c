/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/processes.c - descriptors only: the directory where the map would be, so that one that is
 * written late is found even when the process is gone, and the map. */
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
#define IDLE_INTERVALS 4

struct process {
	uint64_t serial;
	struct opener_process id;
	struct status status;
	int tmp_fd;
	int map_fd;
	uint32_t used;
	uint32_t refused; /* a bit for each enum file_reason that a map of its was refused for */
};

struct processes {
	VEC(struct process *) all;
	struct hash by_id;
	struct hash by_serial;
	uint64_t last_serial;
	uint32_t interval;
	void (*drop)(void *ctx, uint64_t id);
	void *ctx;
	uint64_t refused[FILE_REASONS_LEN]; /* of processes that are forgotten */
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
	free(p);
}

DEFINE_CLEANUP(struct process, process_free)

int processes_new(void (*drop)(void *ctx, uint64_t id), void *ctx, struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->drop = drop;
	processes->ctx = ctx;
	*out = processes;
	return 0;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	vec_each (&processes->all, p)
		process_free(*p);
	vec_done(&processes->all);
	hash_done(&processes->by_id);
	hash_done(&processes->by_serial);
	free(processes);
}

/* The innermost pid first: that is what a program in a container writes. */
static int open_map(struct process *p, int *fd)
{
	int err = -ENOENT, reason;

	for (uint32_t i = p->status.ns_pids_len; i-- > 0 && err < 0;) {
		err = opener_perf_map(p->tmp_fd, &p->id, p->status.ns_pids[i], p->status.euid, fd);
		reason = err < 0 ? opener_reason(err) : -1;
		if (reason >= 0)
			p->refused |= 1U << reason;
	}
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

/* Notes where a process is in the list. */
static int index_at(struct processes *processes, size_t at)
{
	const struct process *p = processes->all.data[at];
	int err = hash_put(&processes->by_id, key_of((uint32_t)p->id.pid, p->id.start_ns), at);

	return err < 0 ? err : hash_put(&processes->by_serial, p->serial, at);
}

int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	_cleanup_(process_freep) struct process *p = NULL;
	uint64_t key = key_of(tgid, start_ns);
	struct process **slot;

	if (hash_find(&processes->by_id, key))
		return 0;
	if (processes->all.len >= PROCESSES_MAX)
		return -ENOSPC;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct process){
		.serial = ++processes->last_serial,
		.id = { .pid = (pid_t)tgid, .start_ns = start_ns },
		.tmp_fd = -1,
		.map_fd = -1,
		.used = processes->interval,
	};
	if (read_status(p->id.pid, &p->status) == 0 && opener_tmp_dir(&p->id, &p->tmp_fd) == 0)
		open_map(p, &p->map_fd);
	slot = vec_add(&processes->all);
	if (!slot)
		return -ENOMEM;
	*slot = TAKE_PTR(p);
	return index_at(processes, processes->all.len - 1);
}

void processes_retry(struct processes *processes)
{
	vec_each (&processes->all, p)
		if ((*p)->map_fd < 0 && (*p)->tmp_fd >= 0)
			open_map(*p, &(*p)->map_fd);
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
	fd_close(&p->map_fd);
	p->map_fd = TAKE_FD(fd);
}

void processes_refresh(struct processes *processes)
{
	vec_each (&processes->all, p)
		follow_replaced(*p);
}

static void add_refused(const struct process *p, uint64_t sums[FILE_REASONS_LEN])
{
	for (int reason = 0; reason < FILE_REASONS_LEN; reason++)
		sums[reason] += p->refused >> reason & 1;
}

void processes_refused(const struct processes *processes, uint64_t out[FILE_REASONS_LEN])
{
	memcpy(out, processes->refused, sizeof(processes->refused));
	vec_each (&processes->all, p)
		add_refused(*p, out);
}

static void forget(struct processes *processes, size_t at)
{
	struct process *p = processes->all.data[at];

	add_refused(p, processes->refused);
	processes->drop(processes->ctx, p->serial);
	hash_del(&processes->by_id, key_of((uint32_t)p->id.pid, p->id.start_ns));
	hash_del(&processes->by_serial, p->serial);
	process_free(p);
	processes->all.data[at] = processes->all.data[--processes->all.len];
	if (at < processes->all.len)
		index_at(processes, at);
}

void processes_next(struct processes *processes)
{
	processes->interval++;
	for (size_t i = processes->all.len; i-- > 0;)
		if (processes->interval - processes->all.data[i]->used > IDLE_INTERVALS)
			forget(processes, i);
}

uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	uint64_t *at = hash_find(&processes->by_id, key_of(tgid, start_ns));
	struct process *p;

	if (!at)
		return 0;
	p = processes->all.data[*at];
	p->used = processes->interval;
	return p->serial;
}

int processes_map_fd(const struct processes *processes, uint64_t id)
{
	uint64_t *at = hash_find(&processes->by_serial, id);

	return at ? processes->all.data[*at]->map_fd : -1;
}
