/* SPDX-License-Identifier: Apache-2.0 */
/* client/opener_call.c - one request at a time, to an opener of its own. As with the others, only
 * descriptors come whose closing cannot wait. */
#include "client/opener_call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "client/openers.h"
#include "jit/jit_files.h"
#include "proc/file_system.h"
#include "sampler/file_key.h"
#include "sampler/opened.h"
#include "sampler/sampler.h"
#include "wire/opening.h"

#define AGAIN_NS (100 * NSEC_PER_MSEC)
#define ERRNO_MAX 4095
#define MEANWHILE_MS 2
/* Most scans of one process are over by then, and events make no call that meets a busy opener. */
#define SLOW_NS (20 * NSEC_PER_MSEC)
#define BUSY_MS 20
#define WAKE_MS ((int)(STARTER_WAKE_NS / NSEC_PER_MSEC))

void opener_call_init(
	struct opener_call *call, const struct openers_options *options, struct hung *hung)
{
	*call = (struct opener_call){ .options = options, .hung = hung, .child = CHILD_INIT };
}

static void give_up(struct opener_call *call, const struct hung_file *blamed)
{
	if (call->child.pid == 0)
		return;
	hung_put(call->hung, call->options->starter, HUNG_PATH, &call->child, blamed);
	call->not_before_ns = blamed ? 0 : clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
}

void opener_call_done(struct opener_call *call)
{
	give_up(call, NULL);
	share_debt_done(&call->spent);
}

static int start(struct opener_call *call)
{
	int err;

	if (call->child.pid != 0)
		return 0;
	if (clock_ns(CLOCK_MONOTONIC) < call->not_before_ns ||
		!hung_has_room(call->hung, HUNG_PATH))
		return -EAGAIN;
	err = call->options->start(call->options->starter, &call->child);
	if (err < 0)
		call->not_before_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	return err < 0 ? -EAGAIN : 0;
}

/* ---- one request ---------------------------------------------------------------------------- */

struct question {
	struct opening_message message;
	int given; /* -1: none */
	struct hung_file file;
	uint32_t number; /* of the path that was found */
	bool polls;          /* the sampler meanwhile, or its ring fills up */
	bool whole;          /* of all processes: there will be many events */
	bool stopped;        /* the opener was, by a signal */
	uint64_t blocked_ns; /* so long it neither ran nor waited for a CPU */
};

static int patience_ms(
	const struct question *q, int look_ms, uint64_t now_ns, uint64_t until_ns)
{
	int left_ms = now_ns < until_ns ? clock_wait_ms(now_ns, until_ns) : BUSY_MS;

	if (q->polls)
		return MEANWHILE_MS;
	return left_ms < look_ms ? left_ms : look_ms;
}

/* Looks at first after a millisecond, then less and less often. */
static bool is_answered(struct opener_call *call, struct question *q)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), end_ns = now_ns + OPENER_BUSY_NS;
	uint64_t until_ns = now_ns + (q->whole ? OPENER_SCAN_NS : OPENER_CALL_NS), look_ns;
	uint64_t polls_ns = now_ns + (q->whole ? 0 : SLOW_NS);
	struct pollfd ready = { .fd = call->child.fd, .events = POLLIN };
	int len = 0, look_ms = 1;
	bool busy = true;

	while (len <= 0 && (now_ns < until_ns || (now_ns < end_ns && (q->stopped || busy)))) {
		look_ns = now_ns;
		len = poll(&ready, 1, patience_ms(q, look_ms, now_ns, until_ns));
		if (q->polls && now_ns >= polls_ns && sampler_poll(call->sampler) < 0)
			break;
		now_ns = clock_ns(CLOCK_MONOTONIC);
		if (len <= 0) {
			q->stopped |= starter_wake(call->options->starter, &call->child);
			busy = child_is_busy(&call->child);
		}
		q->blocked_ns += busy ? 0 : now_ns - look_ns;
		look_ms = 2 * look_ms < WAKE_MS ? 2 * look_ms : WAKE_MS;
	}
	return len > 0;
}

/* *fd: what came with the reply. -EPIPE: it ended, or the reply makes no sense; -ETOOMANYREFS: one
 * of us cannot send its descriptor. */
static int exchange(
	struct opener_call *call, struct question *q, struct opening_reply *reply, int *fd)
{
	_cleanup_fd_ int came = -1;
	int err;

	q->message.request.seq = ++call->seq;
	err = fd_pass(call->child.fd, &q->message, sizeof(q->message), q->given);
	if (err < 0)
		return err == -ETOOMANYREFS ? err : -EPIPE;
	if (!is_answered(call, q))
		return q->stopped ? -EPIPE : -ETIMEDOUT;
	err = fd_take(call->child.fd, MSG_DONTWAIT, reply, sizeof(*reply), &came);
	if (err < 0 || reply->seq != call->seq || !memchr(reply->path, '\0', sizeof(reply->path)) ||
		reply->err < -ERRNO_MAX || reply->err > 1 ||
		(reply->err != 0 && (came >= 0 || reply->held_at != 0)) ||
		(reply->held_at != 0 && came >= 0))
		return -EPIPE;
	if (q->message.request.kind == OPENING_FILES)
		q->number = reply->number;
	*fd = TAKE_FD(came);
	return reply->err == -ETOOMANYREFS ? reply->err : 0;
}

/* Only root and the caller chose what is there; or it has a limit of its own, or is of all. */
static bool is_free(const struct question *q)
{
	const struct opening_request *request = &q->message.request;

	return q->whole || request->kind == OPENING_MEMORY ||
		(request->kind == OPENING_FILES && request->how == OPENING_PASS);
}

/* How long a call takes shows only afterwards, so together they may take twice as long. */
static bool has_time(struct opener_call *call, struct question *q, uint64_t now_ns)
{
	const struct share *spent = &call->spent.held;
	uint64_t room_ns = share_room(OPENER_SPENT_NS);

	share_debt_pass(&call->spent, OPENER_PART, now_ns);
	if (spent->used < room_ns || is_free(q))
		return true;
	hung_identify(call->hung, &q->file);
	return spent->used < 2 * OPENER_SPENT_NS &&
		share_held(spent, q->file.account) <=
			(OPENER_SPENT_NS - room_ns) / (spent->accounts.len + 1);
}

/* Where it waited for a CPU, or was stopped, that is nobody's time. */
static void charge(struct opener_call *call, struct question *q, uint64_t cpu_ns)
{
	uint64_t end_ns = clock_process_ns(call->child.pid); /* 0: it ended */
	uint64_t took_ns = q->blocked_ns + (end_ns > cpu_ns ? end_ns - cpu_ns : 0);

	if (took_ns < OPENER_SLOW_NS || q->stopped || is_free(q))
		return;
	hung_identify(call->hung, &q->file);
	(void)share_charge(&call->spent.held, q->file.account, took_ns);
}

/* 0 with a descriptor or a held file; the opener is given up or replaced where it must be. */
static int ask(struct opener_call *call, struct question *q, struct opening_reply *reply, int *fd)
{
	uint64_t cpu_ns;
	int err;

	q->file.kind = HUNG_PATH;
	if (call->hung->len > 0 && hung_refuses(call->hung, &q->file))
		return -ETIMEDOUT;
	if (!has_time(call, q, clock_ns(CLOCK_MONOTONIC)))
		return -ETIME;
	err = call->busy ? -EAGAIN : start(call);
	if (err < 0)
		return err;
	call->busy = true;
	cpu_ns = clock_process_ns(call->child.pid);
	err = exchange(call, q, reply, fd);
	call->busy = false;
	charge(call, q, cpu_ns);
	if (err == -ETOOMANYREFS) {
		call->options->starter->unsent++;
		return -EAGAIN;
	}
	if (err < 0) {
		give_up(call, err == -ETIMEDOUT ? &q->file : NULL);
		return err == -ETIMEDOUT ? err : -EAGAIN;
	}
	if (reply->err > 0)
		return reply->reason == OBJECT_GONE ? -ENOENT : -EACCES;
	return reply->err;
}

/* A file that is held comes if it is of a local file system, by the kernel's inode. */
static int take_held(
	struct opener_call *call, struct question *q, struct opening_reply *reply, int *fd)
{
	struct object_key key;
	uint32_t magic = 0;
	int err = file_key_of_child(call->sampler, call->child.pid, reply->held_at, &key, &magic);
	bool comes = err == 0 && file_system_is_local(magic);

	q->message.request.kind = OPENING_TAKE;
	q->message.request.how = comes ? OPENING_PASS : OPENING_DROP;
	q->message.request.held_at = reply->held_at;
	q->given = -1;
	err = ask(call, q, reply, fd);
	return err < 0 || comes ? err : -ETIMEDOUT;
}

static enum opened kind_of(const struct opening_request *request)
{
	if (request->kind == OPENING_FILES && request->how != OPENING_OFFER)
		return request->how == OPENING_COPY ? OPENED_COPY : OPENED_OURS;
	return request->kind == OPENING_TAKE ? OPENED_PROVEN : OPENED_FILE;
}

static int find(struct opener_call *call, struct question *q, struct opener_found *found)
{
	_cleanup_fd_ int fd = -1;
	struct opening_reply reply = { 0 };
	int err = ask(call, q, &reply, &fd);

	if (err == 0 && reply.held_at != 0)
		err = take_held(call, q, &reply, &fd);
	if (err < 0)
		return err;
	if (!opened_is(call->sampler, fd, kind_of(&q->message.request))) {
		give_up(call, NULL);
		return -EAGAIN;
	}
	*found = (struct opener_found){
		TAKE_FD(fd), (dev_t)reply.dev, (ino_t)reply.ino, reply.uid
	};
	return 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct question question_of(enum opening_kind kind, const struct opener_process *process)
{
	return (struct question){
		.message.request = { .kind = kind, .mapping.process = *process },
		.given = -1,
		.file.process = process->pid,
	};
}

static int set_path(struct question *q, const char *path)
{
	int len = snprintf(q->message.path, sizeof(q->message.path), "%s", path);

	return (size_t)len < sizeof(q->message.path) ? 0 : -ENAMETOOLONG;
}

/* An O_PATH descriptor, which can be closed in any case. */
static int take_folder(
	struct opener_call *call, struct question *q, struct opening_reply *reply, int *fd)
{
	_cleanup_fd_ int came = -1;
	int err = ask(call, q, reply, &came);

	if (err < 0)
		return err;
	if (!opened_is(call->sampler, came, OPENED_FOLDER)) {
		give_up(call, NULL);
		return -EAGAIN;
	}
	*fd = TAKE_FD(came);
	return 0;
}

int opener_call_dir(
	struct opener_call *call, const struct opener_process *process, const char *path, int *fd)
{
	struct question q = question_of(OPENING_DIR, process);
	struct opening_reply reply = { 0 };
	int err = set_path(&q, path);

	return err < 0 ? err : take_folder(call, &q, &reply, fd);
}

/* A copy in memory. */
static int copy(struct opener_call *call, struct question *q, int *fd)
{
	struct opening_reply reply = { 0 };
	_cleanup_fd_ int came = -1;
	int err = ask(call, q, &reply, &came);

	if (err < 0)
		return err;
	if (!opened_is(call->sampler, came, OPENED_COPY)) {
		give_up(call, NULL);
		return -EAGAIN;
	}
	*fd = TAKE_FD(came);
	return 0;
}

int opener_call_copy(struct opener_call *call, const struct opener_process *process,
	const char *name, size_t size_max, int *fd)
{
	struct question q = question_of(OPENING_READ, process);
	int err = set_path(&q, name);

	q.message.request.bytes_max = size_max;
	return err < 0 ? err : copy(call, &q, fd);
}

int opener_call_read(struct opener_call *call, const struct opener_process *process,
	const char *name, size_t size_max, struct buf *out)
{
	_cleanup_fd_ int fd = -1;
	int err = opener_call_copy(call, process, name, size_max, &fd);

	return err < 0 ? err : fd_read_all(fd, size_max, out);
}

int opener_call_memory(struct opener_call *call, const struct opener_process *process,
	const struct opening_range *ranges, size_t len, int *fd)
{
	struct question q = question_of(OPENING_MEMORY, process);

	if (len > OPENING_RANGES_MAX)
		return -E2BIG;
	q.message.request.ranges_len = len;
	memcpy(q.message.ranges, ranges, len * sizeof(*ranges));
	return copy(call, &q, fd);
}

int opener_call_words(struct opener_call *call, const struct opener_process *process,
	const uint64_t *addresses, size_t len, uint64_t *words)
{
	struct opening_range ranges[OPENING_RANGES_MAX];
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	int err;

	if (len > OPENING_RANGES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < len; i++)
		ranges[i] = (struct opening_range){ addresses[i],
			addresses[i] + sizeof(uint64_t) };
	err = opener_call_memory(call, process, ranges, len, &fd);
	if (err == 0)
		err = fd_read_all(fd, len * sizeof(uint64_t), &bytes);
	if (err == 0 && bytes.len != len * sizeof(uint64_t))
		err = -ENODATA;
	if (err == 0)
		memcpy(words, bytes.data, bytes.len);
	return err;
}

int opener_call_scan(void *ctx, int iterator_fd, uint32_t tgid, int *fd)
{
	struct question q =
		question_of(OPENING_COPY_TEXT, &(struct opener_process){ .pid = (pid_t)tgid });

	q.given = iterator_fd;
	q.polls = true;
	q.whole = tgid == 0;
	return copy(ctx, &q, fd);
}

int opener_call_mapped(
	struct opener_call *call, const struct opener_mapping *mapping, struct opener_found *found)
{
	struct question q = question_of(OPENING_MAPPED, &mapping->process);

	q.message.request.mapping = *mapping;
	return find(call, &q, found);
}

int opener_call_perf_map(struct opener_call *call, int dir_fd, const struct opener_process *process,
	pid_t ns_pid, uid_t uid, struct opener_found *found)
{
	struct question q = question_of(OPENING_PERF_MAP, process);

	q.given = dir_fd;
	q.message.request.ns_pid = ns_pid;
	q.message.request.uid = uid;
	return find(call, &q, found);
}

static int access_read(void *ctx, const struct opener_process *process, const char *name,
	size_t size_max, struct buf *out)
{
	return opener_call_read(ctx, process, name, size_max, out);
}

static int access_dir(void *ctx, const struct opener_process *process, const char *path, int *fd)
{
	return opener_call_dir(ctx, process, path, fd);
}

struct jit_files_access opener_call_access(struct opener_call *call)
{
	return (struct jit_files_access){ call, access_read, access_dir };
}

int opener_paths_add(struct opener_paths *paths, const char *path)
{
	size_t size = strlen(path) + 1;

	if (size > sizeof(paths->text) - paths->bytes)
		return -ENOSPC;
	memcpy(paths->text + paths->bytes, path, size);
	paths->bytes += size;
	paths->len++;
	return 0;
}

static struct question question_in(enum opening_kind kind, const struct opener_place *place)
{
	return (struct question){
		.message.request = { .kind = kind,
			.how = place->how,
			.rule = place->rule,
			.uid = place->uid,
			.bytes_max = place->bytes_max },
		.given = place->fd,
		.file = { .identified = true, .account = place->blamed, .uid = place->blamed_uid },
	};
}

int opener_call_files(struct opener_call *call, const struct opener_place *place,
	const struct opener_paths *paths, uint32_t *at, struct opener_found *found)
{
	struct question q = question_in(OPENING_FILES, place);
	int err;

	q.message.request.first = *at;
	q.message.request.paths_len = paths->len;
	memcpy(q.message.path, paths->text, paths->bytes);
	err = find(call, &q, found);
	*at = q.number > *at ? q.number : *at;
	return err;
}

int opener_call_list(struct opener_call *call, const struct opener_place *place, const char *path,
	struct buf *out)
{
	struct question q = question_in(OPENING_LIST, place);
	_cleanup_fd_ int fd = -1;
	int err = set_path(&q, path);

	if (err == 0)
		err = copy(call, &q, &fd);
	return err < 0 ? err : fd_read_all(fd, place->bytes_max, out);
}

int opener_call_above_cwd(struct opener_call *call, const struct opener_process *process, int *fd,
	char path[PATH_MAX])
{
	struct question q = question_of(OPENING_CWD, process);
	struct opening_reply reply = { 0 };
	int err = take_folder(call, &q, &reply, fd);

	if (err == 0)
		memcpy(path, reply.path, sizeof(reply.path));
	return err;
}
