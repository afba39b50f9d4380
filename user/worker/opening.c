/* SPDX-License-Identifier: Apache-2.0 */
/* worker/opening.c - one request after another. A file system that may wait also waits when a
 * descriptor is closed (flush), so its files never leave this process: its owner gets a copy. They
 * stay mapped until the owner has compared them, by the kernel's own inode, with what it asked for;
 * no byte of the mapping is touched. */
#include "worker/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "bpf/reasons.h"
#include "proc/file_system.h"
#include "wire/opening.h"
#include "worker/filter.h"
#include "worker/worker.h"

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

static int copy(const struct held *held, struct opening_reply *reply)
{
	_cleanup_fd_ int fd = memfd_create("stoker-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct timespec times[2] = { held->st.st_mtim, held->st.st_mtim };
	size_t left = (size_t)held->st.st_size;
	ssize_t len = 1;

	if (held->st.st_size > (off_t)OPENING_COPY_BYTES_MAX)
		return refuse(reply, OBJECT_TOO_LARGE);
	while (fd >= 0 && left > 0 && len > 0) {
		len = sendfile(fd, held->fd, NULL, left);
		left -= len > 0 ? (size_t)len : 0;
	}
	if (fd < 0 || left > 0 || futimens(fd, times) < 0 ||
		fcntl(fd, F_ADD_SEALS, OPENING_COPY_SEALS) < 0)
		return refuse(reply, OBJECT_OPEN);
	return TAKE_FD(fd);
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
		fd = copy(held, reply);
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

static int copy_text(int from)
{
	_cleanup_fd_ int fd = memfd_create("stoker-text", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t left = OPENING_READ_BYTES_MAX;
	char bytes[16384];
	ssize_t len = 1;

	if (fd < 0)
		return -errno;
	while (left > 0 && (len = read(from, bytes, sizeof(bytes))) > 0) {
		int err = fd_write_all(fd, bytes, (size_t)len);

		if (err < 0)
			return err;
		left -= left < (size_t)len ? left : (size_t)len;
	}
	if (len < 0 || lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, OPENING_COPY_SEALS) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int read_text(const struct opener_process *process, const char *name)
{
	_cleanup_fd_ int dir = -1, fd = -1;
	int err = opener_process(process, &dir);

	if (err < 0)
		return err;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : copy_text(fd);
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
			reply->err = r->itself ? opener_itself(root, path, r->uid, &fd)
					       : opener_for_user(root, path, r->uid, &fd);
		if (reply->number >= r->first && (fd >= 0 || opener_reason(reply->err) >= 0))
			break;
		path += strlen(path) + 1;
	}
	return fd;
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
		fd = read_text(&r->mapping.process, message->path);
		reply->err = fd < 0 ? fd : 0;
		return fd < 0 ? -1 : fd;
	case OPENING_COPY_TEXT:
		fd = copy_text(given);
		reply->err = fd < 0 ? fd : 0;
		return fd < 0 ? -1 : fd;
	case OPENING_PERF_MAP:
		reply->err = opener_perf_map(given, &r->mapping.process, r->ns_pid, r->uid, &fd);
		break;
	default:
		fd = open_first(message, given, reply);
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

static int serve_one(struct opening *o, int socket)
{
	_cleanup_fd_ int given = -1, fd = -1;
	struct opening_message message;
	struct opening_reply reply = { 0 };
	int err = fd_take(socket, 0, &message, sizeof(message), &given);

	if (err == -EAGAIN)
		return 0;
	if (err < 0 || message.request.kind >= OPENING_KINDS)
		return -EPIPE;
	message.path[sizeof(message.path) - 1] = '\0';
	reply.seq = message.request.seq;
	fd = obey(o, &message, given, &reply);
	return fd_pass(socket, &reply, sizeof(reply), fd);
}

int opening_run(void *ctx, int fd)
{
	struct opening *o = calloc(1, sizeof(*o));

	(void)ctx;
	prctl(PR_SET_NAME, "stoker-opener", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!o)
		return WORKER_EXIT_MEMORY;
	o->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < OPENING_HELD_MAX; i++)
		o->held[i].fd = -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || filter_enter(FILTER_OPENER) < 0)
		return WORKER_EXIT_SANDBOX;
	while (serve_one(o, fd) == 0)
		;
	return WORKER_EXIT_END;
}
