/* SPDX-License-Identifier: Apache-2.0 */
/* client/openers.c - a queue for each opener; the first requests of it are sent, the oldest of them
 * is the opener's turn. After a loss the others are sent again, to the next opener. Nothing here
 * makes a system call on a file that came, but for asking BPF about it: only descriptors of local
 * file systems, copies and O_PATH descriptors come, which can be closed without waiting. */
#include "client/openers.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/asked_queue.h"
#include "client/hung.h"
#include "client/opener_call.h"
#include "proc/file_system.h"
#include "sampler/file_key.h"
#include "sampler/opened.h"
#include "wire/opening.h"

#define HANG_NS (1500 * NSEC_PER_MSEC)
#define AGAIN_NS (100 * NSEC_PER_MSEC) /* from the loss of an opener to the next, at first */
#define AGAIN_MAX_SHIFT 6
#define EXTENDED_MAX 4
#define END_MS 100 /* for an opener whose socket is closed to be gone */
#define REPEAT_HANGS 20 /* times the limit of a request: so long a file is sent again */

struct turn {
	struct child child;
	struct asked_queue queue;
	uint64_t seq;     /* of the first */
	uint64_t turn_ns; /* since when the first is the opener's turn */
	uint64_t not_before_ns;
	unsigned int losses;   /* in a row */
	unsigned int extended; /* times that this turn was */
	bool unsent;           /* descriptors cannot be sent until not_before_ns */
	bool stopped;          /* a signal did, in this turn: its file is not to blame */
	uint64_t wake_ns;      /* of the next starter_wake */
};

enum speed { LOCAL, SLOW, SPEEDS };

struct openers {
	struct openers_options options;
	struct sampler *sampler;
	struct turn turns[SPEEDS];
	struct hung hung;
	struct opener_call call;
	struct share copies; /* bytes */
};

int openers_new(const struct openers_options *options, struct openers **out)
{
	struct openers *openers = calloc(1, sizeof(*openers));

	if (!openers)
		return -ENOMEM;
	openers->options = *options;
	if (!openers->options.start)
		openers->options.start = starter_opener;
	if (!openers->options.hang_ns)
		openers->options.hang_ns = HANG_NS;
	openers->hung.account = openers->options.account;
	for (int i = 0; i < SPEEDS; i++) {
		openers->turns[i].child = (struct child)CHILD_INIT;
		openers->turns[i].seq = 1;
	}
	opener_call_init(&openers->call, &openers->options, &openers->hung);
	*out = openers;
	return 0;
}

void openers_compare(struct openers *openers, struct sampler *sampler)
{
	openers->sampler = openers->call.sampler = sampler;
}

struct opener_call *openers_call(struct openers *openers)
{
	return &openers->call;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void refuse(struct openers *openers, struct asked *asked, enum object_reason reason)
{
	struct openers_answer answer = { .fd = -1,
		.reason = reason,
		.path = "",
		.again = reason == OBJECT_HUNG && asked->file.kind == HUNG_LOCAL };

	share_return(&openers->copies, asked->account, asked->copied);
	asked->fn(asked->ctx, asked->id, &answer);
}

/* The first, whose turn it was if it is sent. */
static struct asked take_first(struct turn *t)
{
	bool had_turn = t->queue.sent > 0;
	struct asked asked = asked_pop(&t->queue);

	if (had_turn)
		asked_charge(&t->queue, &asked, t->turn_ns);
	return asked;
}

static void refuse_first(struct openers *openers, struct turn *t, enum object_reason reason)
{
	struct asked asked = take_first(t);

	refuse(openers, &asked, reason);
}

/* ---- the process ---------------------------------------------------------------------------- */

static enum hung_kind kind_of(const struct openers *openers, const struct turn *t)
{
	return t == &openers->turns[SLOW] ? HUNG_SLOW : HUNG_LOCAL;
}

/* A file that the opener held is opened again. */
static void begin_again(struct openers *openers, struct asked *asked)
{
	if (asked->request.kind != OPENING_TAKE)
		return;
	asked->request.kind = OPENING_MAPPED;
	share_return(&openers->copies, asked->account, asked->copied);
	asked->copied = 0;
}

/* Its requests go to the next opener. */
static void give_up(struct openers *openers, struct turn *t, const struct hung_file *blamed)
{
	if (t->child.pid == 0)
		return;
	hung_put(&openers->hung, openers->options.starter, kind_of(openers, t), &t->child, blamed);
	t->queue.sent = t->extended = 0;
	for (size_t i = 0; i < asked_count(&t->queue); i++)
		begin_again(openers, asked_at(&t->queue, i));
}

static void replace(struct openers *openers, struct turn *t)
{
	give_up(openers, t, NULL);
	t->not_before_ns = clock_ns(CLOCK_MONOTONIC) + (AGAIN_NS << t->losses);
	t->losses += t->losses < AGAIN_MAX_SHIFT;
}

/* It ended, or its replies make no sense. The file of its turn may be the cause, but sends no
 * SIGKILL: then the next opener gets it. */
static void lose(struct openers *openers, struct turn *t)
{
	bool blames = t->queue.sent > 0 && !child_was_killed(&t->child, END_MS);

	if (blames)
		asked_charge(&t->queue, asked_at(&t->queue, 0), t->turn_ns);
	replace(openers, t);
	if (blames)
		refuse_first(openers, t, OBJECT_OPEN);
}

static void hang(struct openers *openers, struct turn *t)
{
	asked_charge(&t->queue, asked_at(&t->queue, 0), t->turn_ns);
	give_up(openers, t, &asked_at(&t->queue, 0)->file);
	refuse_first(openers, t, OBJECT_HUNG);
}

/* -ENOSPC: too many are stuck. */
static int start(struct openers *openers, struct turn *t)
{
	int err;

	if (t->child.pid != 0)
		return 0;
	if (!hung_has_room(&openers->hung, kind_of(openers, t)))
		return -ENOSPC;
	if (clock_ns(CLOCK_MONOTONIC) < t->not_before_ns)
		return -EAGAIN;
	err = openers->options.start(openers->options.starter, &t->child);
	if (err == 0)
		err = fd_watch(openers->options.epoll_fd, t->child.fd);
	/* Of epoll: its user watches too many. */
	if (err == -ENOSPC)
		err = -EAGAIN;
	if (err < 0)
		give_up(openers, t, NULL);
	if (err < 0)
		t->not_before_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	return err;
}

/* Since it was asked for, another one of its device or account may have. */
static bool has_hung(struct openers *openers, struct asked *asked)
{
	return openers->hung.len > 0 && asked->request.kind != OPENING_TAKE &&
		hung_refuses(&openers->hung, &asked->file);
}

static void begin_turn(struct turn *t)
{
	t->turn_ns = clock_ns(CLOCK_MONOTONIC);
	t->wake_ns = t->turn_ns + STARTER_WAKE_NS;
	t->stopped = false;
}

static int send_next(struct turn *t)
{
	struct opening_message message = { .request = asked_at(&t->queue, t->queue.sent)->request };
	int err;

	message.request.seq = t->seq + t->queue.sent;
	/* If it was lost, its socket says so when it is read. */
	err = fd_pass(t->child.fd, &message, sizeof(message), -1);
	if (err == 0 && t->queue.sent++ == 0)
		begin_turn(t);
	return err;
}

/* A request that may wait is sent when its turn comes, so that others can still go before it. */
static size_t ahead_max(const struct openers *openers, const struct turn *t)
{
	return kind_of(openers, t) == HUNG_SLOW ? 1 : OPENING_IN_FLIGHT_MAX;
}

static void fill(struct openers *openers, struct turn *t)
{
	int err = t->unsent && clock_ns(CLOCK_MONOTONIC) < t->not_before_ns ? -EAGAIN : 0;

	t->unsent &= err < 0;
	while (err == 0 && t->queue.sent < ahead_max(openers, t) &&
		t->queue.sent < asked_count(&t->queue)) {
		asked_choose_next(&t->queue);
		if (has_hung(openers, asked_at(&t->queue, t->queue.sent))) {
			struct asked asked = asked_take_out(&t->queue, t->queue.sent);

			refuse(openers, &asked, OBJECT_HUNG);
			continue;
		}
		err = start(openers, t);
		if (err == 0)
			err = send_next(t);
	}
	while (err == -ENOSPC && asked_count(&t->queue) > 0)
		refuse_first(openers, t, OBJECT_HUNG);
}

/* ---- replies -------------------------------------------------------------------------------- */

/* It holds a file: is it the one, and can it come? */
static enum opening_how judge(struct openers *openers, pid_t opener, struct asked *asked,
	const struct opening_reply *reply)
{
	struct object_key key;
	uint32_t magic;

	asked->refused = OBJECT_UNPROVEN;
	if (file_key_of_child(openers->sampler, opener, reply->held_at, &key, &magic) < 0)
		return OPENING_DROP;
	asked->refused = OBJECT_CHANGED;
	if (memcmp(&key, &asked->key, sizeof(key)) != 0)
		return OPENING_DROP;
	if (file_system_is_local(magic))
		return OPENING_PASS;
	asked->refused = OBJECT_TOO_LARGE;
	if (reply->size_bytes > OPENING_COPY_BYTES_MAX)
		return OPENING_DROP;
	asked->refused = OBJECT_LIMIT;
	if (share_refuses(&openers->copies, asked->account, reply->size_bytes,
		    OPENERS_COPIES_BYTES_MAX) ||
		share_charge(&openers->copies, asked->account, reply->size_bytes) < 0)
		return OPENING_DROP;
	asked->copied = reply->size_bytes;
	return OPENING_COPY;
}

/* Is the descriptor of what was asked for? */
static bool is_expected(struct openers *openers, const struct asked *asked, int fd)
{
	const struct opening_request *request = &asked->request;
	bool taken = request->kind == OPENING_TAKE;

	if (taken && request->how == OPENING_DROP)
		return fd < 0;
	return opened_is(openers->sampler, fd,
		request->kind == OPENING_ROOT                  ? OPENED_FOLDER
			: taken && request->how == OPENING_COPY ? OPENED_COPY
			: taken                                 ? OPENED_PROVEN
								: OPENED_FILE);
}

static bool is_valid(
	struct openers *openers, const struct turn *t, const struct opening_reply *reply, int fd)
{
	const struct asked *asked = asked_at(&t->queue, 0);

	if (t->queue.sent == 0 || reply->seq != t->seq ||
		!memchr(reply->path, '\0', sizeof(reply->path)))
		return false;
	if (reply->err != 0)
		return fd < 0 && reply->held_at == 0 && reply->reason < OBJECT_REASONS_LEN;
	if (reply->held_at != 0)
		return fd < 0 && asked->request.kind == OPENING_MAPPED;
	return is_expected(openers, asked, fd);
}

static enum object_reason compare(struct openers *openers, const struct asked *asked, int fd)
{
	int err = file_key_compare(openers->sampler, fd, &asked->key);

	if (err == 0)
		return OBJECT_REASONS_LEN;
	return err == -ESTALE ? OBJECT_CHANGED : OBJECT_UNPROVEN;
}

/* Takes the descriptor. The file was held to be the one, or it is compared now. */
static void deliver(
	struct openers *openers, struct asked *asked, const struct opening_reply *reply, int fd)
{
	struct openers_answer answer = { .fd = fd,
		.path = reply->path,
		.uid = reply->uid,
		.copied = asked->copied,
		.account = asked->account };
	enum object_reason reason = OBJECT_REASONS_LEN;

	if (asked->request.kind == OPENING_TAKE && asked->request.how == OPENING_DROP)
		reason = asked->refused;
	else if (asked->request.kind == OPENING_MAPPED ||
		(asked->request.kind == OPENING_TAKE && asked->request.how == OPENING_PASS))
		reason = compare(openers, asked, fd);
	if (reason == OBJECT_REASONS_LEN)
		asked->fn(asked->ctx, asked->id, &answer);
	else
		refuse(openers, asked, reason);
	fd_close(&answer.fd);
}

/* Its file could not be sent. That takes as long as somebody has many descriptors in flight; or an
 * opener says so that was taken over. */
static void repeat(struct openers *openers, struct turn *t, struct asked *asked)
{
	openers->options.starter->unsent++;
	t->unsent = true;
	t->not_before_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	begin_again(openers, asked);
	if (asked->repeat_until_ns == 0)
		asked->repeat_until_ns =
			t->not_before_ns + REPEAT_HANGS * openers->options.hang_ns;
	if (asked_push_next(&t->queue, asked) < 0)
		refuse(openers, asked, OBJECT_LIMIT);
}

static bool may_repeat(const struct asked *asked)
{
	return asked->repeat_until_ns == 0 ||
		clock_ns(CLOCK_MONOTONIC) < asked->repeat_until_ns;
}

/* Takes the descriptor. False: the reply makes no sense, or no more than those before it. */
static bool handle(
	struct openers *openers, struct turn *t, const struct opening_reply *reply, int fd)
{
	_cleanup_fd_ int owned = fd;
	struct asked asked;

	if (!is_valid(openers, t, reply, fd) ||
		(reply->err == -ETOOMANYREFS && !may_repeat(asked_at(&t->queue, 0))))
		return false;
	asked = take_first(t);
	t->seq++;
	begin_turn(t);
	t->losses = t->extended = 0;
	if (reply->err == -ETOOMANYREFS) {
		repeat(openers, t, &asked);
	} else if (reply->err != 0) {
		refuse(openers, &asked,
			asked.request.kind == OPENING_ROOT ? OBJECT_GONE
							   : (enum object_reason)reply->reason);
	} else if (reply->held_at != 0) {
		asked.request.how = judge(openers, t->child.pid, &asked, reply);
		asked.request.kind = OPENING_TAKE;
		asked.request.held_at = reply->held_at;
		if (asked_push_next(&t->queue, &asked) < 0)
			refuse(openers, &asked, OBJECT_LIMIT);
	} else {
		deliver(openers, &asked, reply, TAKE_FD(owned));
	}
	return true;
}

/* To copy a file takes its time. */
static uint64_t late_ns(const struct openers *openers, const struct turn *t)
{
	bool copies = asked_at(&t->queue, 0)->copied > 0;

	return t->turn_ns + (copies ? 2 : 1) * openers->options.hang_ns;
}

/* On a busy machine it may only wait for a CPU: then it gets more time, but not for ever. If it was
 * stopped, its file is not to blame, and the next opener gets it. */
static void judge_late(struct openers *openers, struct turn *t)
{
	if (t->stopped) {
		replace(openers, t);
		return;
	}
	if (t->extended == EXTENDED_MAX || !child_is_busy(&t->child)) {
		hang(openers, t);
		return;
	}
	t->extended++;
	t->turn_ns = clock_ns(CLOCK_MONOTONIC);
}

/* It has not answered yet. */
static void watch(struct openers *openers, struct turn *t)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now >= t->wake_ns) {
		t->stopped |= starter_wake(openers->options.starter, &t->child);
		t->wake_ns = now + STARTER_WAKE_NS;
	}
	if (now >= late_ns(openers, t))
		judge_late(openers, t);
}

/* A file came, and we have no descriptor left for it. False: no file was due. */
static bool is_over_our_limit(
	struct openers *openers, struct turn *t, const struct opening_reply *reply)
{
	if (t->queue.sent == 0 || reply->seq != t->seq)
		return false;
	t->seq++;
	refuse_first(openers, t, OBJECT_LIMIT);
	begin_turn(t);
	return true;
}

static void poll_turn(struct openers *openers, struct turn *t)
{
	struct opening_reply reply;
	int err = 0;

	while (t->child.pid != 0 && err == 0) {
		int fd = -1;

		err = fd_take(t->child.fd, MSG_DONTWAIT, &reply, sizeof(reply), &fd);
		if (err == -EMFILE && is_over_our_limit(openers, t, &reply))
			err = 0;
		else if (err == 0 && !handle(openers, t, &reply, fd))
			err = -EPIPE;
		else if (err < 0)
			fd_close(&fd);
	}
	if (err < 0 && err != -EAGAIN)
		lose(openers, t);
	else if (t->queue.sent > 0)
		watch(openers, t);
	fill(openers, t);
}

void openers_poll(struct openers *openers)
{
	for (int i = 0; i < SPEEDS; i++)
		poll_turn(openers, &openers->turns[i]);
	hung_reap(&openers->hung);
}

uint64_t openers_due_ns(const struct openers *openers)
{
	uint64_t due_ns = CLOCK_NEVER_NS;

	for (int i = 0; i < SPEEDS; i++) {
		const struct turn *t = &openers->turns[i];

		if (t->queue.sent > 0)
			due_ns = clock_sooner(
				due_ns, clock_sooner(late_ns(openers, t), t->wake_ns));
		else if (asked_count(&t->queue) > 0)
			due_ns = clock_sooner(due_ns, t->not_before_ns);
	}
	return due_ns;
}

/* ---- requests ------------------------------------------------------------------------------- */

static void ask(struct openers *openers, struct asked *asked, uint32_t magic)
{
	bool slow = magic != 0 && magic != OVERLAYFS_SUPER_MAGIC && !file_system_is_local(magic);
	struct turn *t = &openers->turns[slow ? SLOW : LOCAL];

	asked->file.process = asked->request.mapping.process.pid;
	asked->file.kind = slow ? HUNG_SLOW : HUNG_LOCAL;
	if (has_hung(openers, asked))
		refuse(openers, asked, OBJECT_HUNG);
	else if (asked_push(&t->queue, asked) < 0)
		refuse(openers, asked, OBJECT_LIMIT);
	else
		fill(openers, t);
}

void openers_mapped(struct openers *openers, const struct event_object *event,
	uint64_t account, openers_fn fn, void *ctx, uint64_t id)
{
	struct asked asked = {
		.request = { .kind = OPENING_MAPPED,
			.mapping = { .process = { (pid_t)event->tgid, event->start_ns },
				.vm_start = event->vm_start,
				.vm_end = event->vm_end,
				.ino = event->key.ino,
				.mtime_ns = event->key.mtime_ns } },
		.key = event->key,
		.file = { .dev = event->key.dev },
		.account = account,
		.fn = fn,
		.ctx = ctx,
		.id = id,
	};

	ask(openers, &asked, event->magic);
}

void openers_root(struct openers *openers, const struct opener_process *process,
	const struct event_object *event, uint64_t account, openers_fn fn, void *ctx,
	uint64_t id)
{
	struct asked asked = {
		.request = { .kind = OPENING_ROOT, .mapping.process = *process },
		.file = { .dev = event ? event->key.dev : 0 },
		.account = account,
		.fn = fn,
		.ctx = ctx,
		.id = id,
	};

	ask(openers, &asked, event ? event->magic : 0);
}

void openers_want(struct openers *openers, const void *ctx, uint64_t id)
{
	for (int i = 0; i < SPEEDS; i++)
		asked_want(&openers->turns[i].queue, ctx, id);
}

void openers_drop_copy(struct openers *openers, uint64_t account, uint64_t bytes)
{
	share_return(&openers->copies, account, bytes);
}

size_t openers_pending(const struct openers *openers)
{
	size_t pending = 0;

	for (int i = 0; i < SPEEDS; i++)
		pending += asked_count(&openers->turns[i].queue);
	return pending;
}

double openers_cpu_s(const struct openers *openers)
{
	uint64_t ns = openers->hung.cpu_ns + clock_process_ns(openers->call.child.pid);

	for (int i = 0; i < SPEEDS; i++)
		ns += clock_process_ns(openers->turns[i].child.pid);
	for (size_t i = 0; i < openers->hung.len; i++)
		ns += clock_process_ns(openers->hung.all[i].child.pid);
	return (double)ns / 1e9;
}

uint64_t openers_given_up(const struct openers *openers)
{
	return openers->hung.given_up;
}

void openers_free(struct openers *openers)
{
	if (!openers)
		return;
	for (int i = 0; i < SPEEDS; i++) {
		give_up(openers, &openers->turns[i], NULL);
		asked_done(&openers->turns[i].queue);
	}
	opener_call_done(&openers->call);
	hung_done(&openers->hung);
	share_done(&openers->copies);
	free(openers);
}
