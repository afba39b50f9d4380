/* SPDX-License-Identifier: Apache-2.0 */
/* worker/opening.c - one request after another. A file system that may wait also waits when a
 * descriptor is closed (flush), so its files never leave this process: its owner gets a copy. They
 * stay mapped until the owner has compared them, by the kernel's own inode, with what it asked for;
 * no byte of the mapping is touched. */
#include "worker/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/orders.h"
#include "bpf/reasons.h"
#include "proc/file_system.h"
#include "wire/opening.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define COPY_BYTES 16384

struct held {
	void *at; /* NULL: unused */
	int fd;
	struct stat st;
	char *path;
};

struct opening {
	struct held held[OPENING_HELD_MAX];
	size_t page_bytes;
};

static int refuse(struct opening_reply *reply, int reason)
{
	reply->err = 1;
	reply->reason = (uint32_t)reason;
	return -1;
}

static void describe(const struct stat *st, struct opening_reply *reply)
{
	reply->uid = st->st_uid;
	reply->size_bytes = (uint64_t)st->st_size;
	reply->dev = st->st_dev;
	reply->ino = st->st_ino;
}

/* ---- files that are held -------------------------------------------------------------------- */

static struct held *find(struct opening *o, uint64_t at)
{
	for (size_t i = 0; i < OPENING_HELD_MAX; i++)
		if ((uint64_t)(uintptr_t)o->held[i].at == at)
			return &o->held[i];
	return NULL;
}

/* Takes the descriptor. */
static int hold(struct opening *o, int fd, const struct stat *st, struct opening_reply *reply)
{
	_cleanup_fd_ int owned = fd;
	struct held *held = find(o, 0);
	void *at = held ? mmap(NULL, o->page_bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	if (at == MAP_FAILED)
		return refuse(reply, OBJECT_UNPROVEN);
	*held = (struct held){ at, TAKE_FD(owned), *st, strdup(reply->path) };
	reply->held_at = (uint64_t)(uintptr_t)at;
	return -1;
}

static void release(struct opening *o, struct held *held)
{
	munmap(held->at, o->page_bytes);
	fd_close(&held->fd);
	free(held->path);
	*held = (struct held){ .fd = -1 };
}

static int copy(const struct held *held, uint64_t bytes_max, struct opening_reply *reply)
{
	_cleanup_fd_ int fd = fd_memory("stoker-copy");
	const struct timespec times[2] = { held->st.st_mtim, held->st.st_mtim };
	size_t left = (size_t)held->st.st_size;
	ssize_t len = 1;
	int copied;

	if ((uint64_t)held->st.st_size > bytes_max)
		return refuse(reply, OBJECT_TOO_LARGE);
	while (fd >= 0 && left > 0 && len > 0) {
		len = sendfile(fd, held->fd, NULL, left);
		left -= len > 0 ? (size_t)len : 0;
	}
	if (fd < 0 || left > 0 || futimens(fd, times) < 0)
		return refuse(reply, OBJECT_OPEN);
	copied = fd_seal(TAKE_FD(fd));
	return copied < 0 ? refuse(reply, OBJECT_OPEN) : copied;
}

/* ---- requests: each gives a descriptor that goes with the reply, or -1 ----------------------- */

/* Takes the descriptor. It goes with the reply, or is held. */
static int offer(struct opening *o, int opened, struct opening_reply *reply)
{
	_cleanup_fd_ int fd = opened;
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return refuse(reply, OBJECT_OPEN);
	describe(&st, reply);
	if (file_system_is_local((uint32_t)fs.f_type))
		return TAKE_FD(fd);
	return hold(o, TAKE_FD(fd), &st, reply);
}

static int open_mapped(
	struct opening *o, const struct opening_request *request, struct opening_reply *reply)
{
	int fd = -1;
	int reason = opener_mapped_file(&request->mapping, &fd, reply->path, sizeof(reply->path));

	return fd < 0 ? refuse(reply, reason) : offer(o, fd, reply);
}

static int take(
	struct opening *o, const struct opening_request *request, struct opening_reply *reply)
{
	struct held *held = request->held_at ? find(o, request->held_at) : NULL;
	int fd = -1;

	if (!held)
		return refuse(reply, OBJECT_OPEN);
	if (request->how == OPENING_PASS)
		fd = TAKE_FD(held->fd);
	else if (request->how == OPENING_COPY)
		fd = copy(held, OPENING_COPY_BYTES_MAX, reply);
	describe(&held->st, reply);
	if (held->path)
		memcpy(reply->path, held->path, strlen(held->path) + 1);
	release(o, held);
	return fd;
}

static int open_root(const struct opening_request *request, struct opening_reply *reply)
{
	int fd = -1;

	reply->err = opener_root(&request->mapping.process, &fd);
	return fd;
}

/* A text of more than bytes_max is an error, or cut there. */
static int copy_text(int from, uint64_t bytes_max, bool cut)
{
	_cleanup_fd_ int fd = fd_memory("stoker-text");
	char bytes[COPY_BYTES];
	ssize_t len = 0;
	int err = fd < 0 ? fd : 0;

	while (err == 0 && (len = read(from, bytes, sizeof(bytes))) > 0) {
		size_t fits = (uint64_t)len < bytes_max ? (size_t)len : (size_t)bytes_max;

		err = fits < (size_t)len && !cut ? -EFBIG : fd_write_all(fd, bytes, fits);
		bytes_max -= fits;
		if (fits < (size_t)len)
			break;
	}
	if (err < 0)
		return err;
	return len < 0 ? -errno : fd_seal(TAKE_FD(fd));
}

static int open_of_process(const struct opener_process *process, const char *name)
{
	_cleanup_fd_ int dir = -1;
	int fd, err = opener_process(process, &dir);

	if (err < 0)
		return err;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_text(const struct opening_request *request, const char *name)
{
	uint64_t bytes_max = request->bytes_max < OPENING_READ_BYTES_MAX ? request->bytes_max
									 : OPENING_READ_BYTES_MAX;
	_cleanup_fd_ int fd = open_of_process(&request->mapping.process, name);

	return fd < 0 ? fd : copy_text(fd, bytes_max, false);
}

/* Up to the first byte that cannot be read. Not by /proc/PID/mem: there a page that its file system
 * does not give keeps the lock of the process's mappings, for which everybody waits who looks at
 * them. */
static int copy_range(pid_t from, const struct opening_range *range, int fd)
{
	char bytes[COPY_BYTES];
	uint64_t at = range->start;

	while (at < range->end) {
		size_t size = range->end - at < sizeof(bytes) ? range->end - at : sizeof(bytes);
		const struct iovec here = { bytes, size }, there = { (void *)at, size };
		ssize_t len = process_vm_readv(from, &here, 1, &there, 1, 0);
		int err = len <= 0 ? 0 : fd_write_all(fd, bytes, (size_t)len);

		if (err < 0)
			return err;
		if (len <= 0)
			break;
		at += (uint64_t)len;
	}
	return lseek(fd, (off_t)(range->end - at), SEEK_CUR) < 0 ? -errno : 0;
}

static int copy_memory(const struct opening_message *message)
{
	const struct opener_process *process = &message->request.mapping.process;
	_cleanup_fd_ int from = open_of_process(process, "stat");
	_cleanup_fd_ int fd = fd_memory("stoker-memory");
	uint64_t len = message->request.ranges_len, size = 0;
	int err = from < 0 ? from : fd < 0 ? fd : len > OPENING_RANGES_MAX ? -E2BIG : 0;
	char state;

	for (uint64_t i = 0; i < len && err == 0; i++) {
		const struct opening_range *range = &message->ranges[i];

		if (range->end < range->start ||
			range->end - range->start > OPENING_READ_BYTES_MAX - size)
			return -EFBIG;
		size += range->end - range->start;
		err = copy_range(process->pid, range, fd);
	}
	/* As long as it lives nobody else has its number. */
	if (err == 0 && pread(from, &state, 1, 0) <= 0)
		err = -ESRCH;
	if (err == 0 && ftruncate(fd, (off_t)size) < 0)
		err = -errno;
	return err < 0 ? err : fd_seal(TAKE_FD(fd));
}

static int open_by_rule(const struct opening_request *r, int root, const char *path, int *fd)
{
	switch (r->rule) {
	case OPENING_FOR_USER:
		return opener_for_user(root, path, r->uid, fd);
	case OPENING_ITSELF:
		return opener_itself(root, path, r->uid, fd);
	case OPENING_ANY:
		return opener_in_root(root, path, fd);
	}
	return -EINVAL;
}

/* The first that there is, whether it can be used or not. */
static int open_first(const struct opening_message *message, int root, struct opening_reply *reply)
{
	const struct opening_request *r = &message->request;
	const char *path = message->path, *end = path + sizeof(message->path);
	int fd = -1;

	reply->err = -ENOENT;
	for (reply->number = 0; reply->number < r->paths_len && path < end; reply->number++) {
		if (reply->number >= r->first)
			reply->err = open_by_rule(r, root, path, &fd);
		if (reply->number >= r->first && (fd >= 0 || opener_reason(reply->err) >= 0))
			break;
		path += strlen(path) + 1;
	}
	return fd;
}

/* Takes the descriptor: of any file system. */
static int give_file(const struct opening_request *r, int opened, struct opening_reply *reply)
{
	_cleanup_fd_ int fd = opened;
	struct held file = { .fd = opened };
	int made = -1;

	if (fstat(fd, &file.st) < 0) {
		reply->err = -errno;
		return -1;
	}
	describe(&file.st, reply);
	if (r->how == OPENING_PASS)
		return TAKE_FD(fd);
	reply->err = file.st.st_size > (off_t)OPENING_COPY_BYTES_MAX ||
			(uint64_t)file.st.st_size > r->bytes_max
		? -EFBIG
		: 0;
	if (reply->err == 0)
		made = copy(&file, r->bytes_max, reply);
	if (reply->err > 0)
		reply->err = -EIO;
	return made;
}

static int list(int root, const char *path, uint64_t bytes_max)
{
	_cleanup_(buf_done) struct buf names = { .max_bytes = bytes_max };
	_cleanup_(dir_closep) DIR *dir = NULL;
	_cleanup_fd_ int fd = -1;
	struct dirent *entry;
	int made = -1, err = opener_folder(root, path, &fd);

	dir = err < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return err < 0 ? err : -errno;
	(void)TAKE_FD(fd);
	while ((entry = readdir(dir)))
		buf_put(&names, entry->d_name, strlen(entry->d_name) + 1);
	err = buf_err(&names);
	if (err == 0)
		err = fd_in_memory("stoker-names", names.data, names.len, &made);
	return err < 0 ? err : made;
}

/* fd: or -errno. */
static int give(int fd, struct opening_reply *reply)
{
	reply->err = fd < 0 ? fd : 0;
	return fd < 0 ? -1 : fd;
}

/* given: a directory, or -1. */
static int open_path(struct opening *o, const struct opening_message *message, int given,
	struct opening_reply *reply)
{
	const struct opening_request *r = &message->request;
	int fd = -1;

	switch (r->kind) {
	case OPENING_DIR:
		reply->err = opener_dir(&r->mapping.process, message->path, &fd);
		return fd;
	case OPENING_READ:
		return give(read_text(r, message->path), reply);
	case OPENING_MEMORY:
		return give(copy_memory(message), reply);
	case OPENING_LIST:
		return give(list(given, message->path, r->bytes_max), reply);
	case OPENING_CWD:
		reply->err = opener_above_cwd(
			&r->mapping.process, &fd, reply->path, sizeof(reply->path));
		return fd;
	case OPENING_COPY_TEXT:
		return give(copy_text(given, OPENING_READ_BYTES_MAX, true), reply);
	case OPENING_PERF_MAP:
		reply->err = opener_perf_map(given, &r->mapping.process, r->ns_pid, r->uid, &fd);
		break;
	default:
		fd = open_first(message, given, reply);
		if (fd >= 0 && r->how != OPENING_OFFER)
			return give_file(r, fd, reply);
	}
	fd = fd < 0 ? -1 : offer(o, fd, reply);
	if (reply->err > 0)
		reply->err = -EIO;
	return fd;
}

static int obey(struct opening *o, const struct opening_message *message, int given,
	struct opening_reply *reply)
{
	const struct opening_request *request = &message->request;

	switch (request->kind) {
	case OPENING_MAPPED:
		return open_mapped(o, request, reply);
	case OPENING_TAKE:
		return take(o, request, reply);
	case OPENING_ROOT:
		return open_root(request, reply);
	default:
		return open_path(o, message, given, reply);
	}
}

/* ---- the process ---------------------------------------------------------------------------- */

static int obey_call(void *ctx, struct orders_call *call)
{
	struct opening_message *message = call->order;
	struct opening_reply *reply = call->answer;

	if (message->request.kind != OPENING_MEMORY)
		message->path[sizeof(message->path) - 1] = '\0';
	reply->seq = message->request.seq;
	call->fd = obey(ctx, message, call->given, reply);
	return 0;
}

/* The descriptor that could not be sent is closed; the owner asks for the file again. */
static void on_unsent(void *ctx, struct orders_call *call)
{
	const struct opening_message *message = call->order;
	struct opening_reply *reply = call->answer;

	(void)ctx;
	*reply = (struct opening_reply){ .seq = message->request.seq, .err = -ETOOMANYREFS };
}

static const struct orders_row rows[OPENING_KINDS] = {
	[0 ... OPENING_KINDS - 1] = { ORDERS_OWNER, obey_call },
};

int opening_run(void *ctx, int fd)
{
	struct opening *o = calloc(1, sizeof(*o));
	struct orders orders = { .rows = rows,
		.rows_len = OPENING_KINDS,
		.order_bytes = sizeof(struct opening_message),
		.answer_bytes = sizeof(struct opening_reply),
		.unsent = on_unsent,
		.ctx = o };

	uint32_t report;

	(void)ctx;
	prctl(PR_SET_NAME, "stoker-opener", 0, 0, 0);
	if (!o)
		return WORKER_EXIT_MEMORY;
	o->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < OPENING_HELD_MAX; i++)
		o->held[i].fd = -1;
	if (sandbox_enter_opener(OPENING_CAPS, &report) < 0)
		return WORKER_EXIT_SANDBOX;
	orders_serve(&orders, fd);
	return WORKER_EXIT_END;
}
