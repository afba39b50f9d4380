/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.c - the starter serves orders (base/orders.h) and has no descriptors but its
 * sockets and the pidfds of the processes that it started. It is forked, not executed. It may gain
 * no privileges, so a process that it starts has at most its own, also where this program has file
 * capabilities. It never waits for a guest. */
#include "client/starter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/orders.h"
#include "base/own.h"
#include "wire/fetch_proto.h"
#include "wire/proto.h"
#include "worker/filter.h"
#include "worker/opening.h"
#include "worker/users.h"
#include "worker/worker.h"

#define SOCKET_BYTES (4 * PROTO_BYTES_MAX)
#define STARTED_MAX 80
#define LOOKS 50 /* for an answer; a starter that has none after them is lost */
#define LOOK_MS 100

/* For namespaces, an empty root, a worker's user, bounding set and nice value, and its end. */
#define KEPT                                                                            \
	(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_SETUID) |    \
		CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETPCAP) | CAPS_BIT(CAP_SYS_NICE) | \
		CAPS_BIT(CAP_KILL))

_Static_assert(WORKER_FD == CHILD_STANDARD, "the socket follows the standard files");

/* ---- a process ------------------------------------------------------------------------------ */

static void set_buffer(int fd)
{
	int size = SOCKET_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int run_worker(void *ctx, int fd)
{
	char *argv[] = { "stoker", ctx, NULL }, *env[] = { NULL };

	set_buffer(fd);
	execve("/proc/self/exe", argv, env);
	return WORKER_EXIT_SOCKET;
}

/* Signals stay blocked until the worker ignores them: a signal that a terminal sends to the whole
 * group must not end it. */
static int start_process(const char *argument, bool sibling, struct child *child)
{
	const struct child_plan plan = { .run = run_worker,
		.ctx = (char *)argument,
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.sibling = sibling };
	int err = child_start(&plan, child);

	if (err == 0)
		set_buffer(child->fd);
	return err;
}

/* It has no program of its own: it makes system calls, and needs little of libc. It limits itself
 * to OPENING_CAPS (worker/sandbox.h). */
static int start_opener(bool sibling, struct child *child)
{
	const struct child_plan plan = { .run = opening_run,
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.limited = true,
		.caps = KEPT | OPENING_CAPS,
		.sibling = sibling };

	return child_start(&plan, child);
}

struct capture {
	const struct starter_duties *duties;
	const struct starter_order *order;
	bool clocks;
};

static int run_capture(void *ctx, int fd)
{
	const struct capture *c = ctx;

	(void)fd;
	return c->duties->capture(c->duties->ctx, c->order->wanted, c->clocks);
}

static int run_maps(void *ctx, int fd)
{
	const struct starter_duties *duties = ctx;

	return duties->maps(duties->ctx, fd);
}

/* A child of ours, and of none but us: no other is. */
static int start_maps(const struct starter_duties *duties, int *socket)
{
	const struct child_plan plan = { .run = run_maps,
		.ctx = (void *)duties,
		.name = "stoker-maps",
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.death_signal = SIGCONT,
		.limited = true,
		.caps = duties->maps_caps };
	struct child child = CHILD_INIT, none = CHILD_INIT;
	int err;

	child_reap_orphans(&none);
	err = child_start(&plan, &child);
	fd_close(&child.pidfd);
	*socket = child.fd;
	return err;
}

/* ---- the starter ---------------------------------------------------------------------------- */

struct serving {
	const struct starter_duties *duties;
	struct orders orders;
	struct child started[STARTED_MAX]; /* our owner's children */
};

static bool has_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 1;
}

/* NULL: STARTED_MAX run. */
static struct child *find_room(struct child *started)
{
	for (int i = 0; i < STARTED_MAX; i++) {
		if (started[i].pidfd >= 0 && has_ended(started[i].pidfd))
			fd_close(&started[i].pidfd);
		if (started[i].pidfd < 0)
			return &started[i];
	}
	return NULL;
}

/* 0: the process is in `room`. */
static int answer_started(struct orders_call *call, struct child *room, int err)
{
	struct starter_answer *answer = call->answer;

	answer->err = err;
	if (err == 0) {
		answer->pid = room->pid;
		call->fd = TAKE_FD(room->fd);
	}
	return 0;
}

static int obey_start(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct starter_order *order = call->order;
	struct child *room = find_room(s->started);

	order->argument[STARTER_ARGUMENT_BYTES - 1] = '\0';
	if (strcmp(order->argument, s->duties->program) != 0 &&
		!(s->duties->fetchers && strcmp(order->argument, FETCH_ARGUMENT) == 0))
		return -EPERM;
	return answer_started(
		call, room, room ? start_process(order->argument, true, room) : -EAGAIN);
}

static int obey_opener(void *ctx, struct orders_call *call)
{
	struct child *room = find_room(((struct serving *)ctx)->started);

	return answer_started(call, room, room ? start_opener(true, room) : -EAGAIN);
}

/* By pidfd: the number may be another process's by now. 0: all, as the signal that the kernel sends
 * at the death of our owner has its rights, and does not reach other users. */
static void signal_started(struct serving *s, pid_t pid, int signal)
{
	for (int i = 0; i < STARTED_MAX; i++)
		if (s->started[i].pidfd >= 0 && (pid == 0 || s->started[i].pid == pid))
			syscall(SYS_pidfd_send_signal, s->started[i].pidfd, signal, NULL, 0);
}

static int obey_signal(void *ctx, struct orders_call *call)
{
	const struct starter_order *order = call->order;

	if (order->signal != SIGKILL && order->signal != SIGCONT)
		return -EPERM;
	if (order->pid > 0)
		signal_started(ctx, order->pid, order->signal);
	return 0;
}

/* Nobody could talk to what was started. */
static void on_unsent(void *ctx, struct orders_call *call)
{
	struct starter_answer *answer = call->answer;

	signal_started(ctx, answer->pid, SIGKILL);
	*answer = (struct starter_answer){ .err = -ETOOMANYREFS };
}

/* Without the right to undo it, nothing is done. The workers are of our session. */
static int obey_pace(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	const struct starter_order *order = call->order;
	int nice = order->normal ? 0 : SAMPLING_NICE;

	if (!(caps_permitted() & CAPS_BIT(CAP_SYS_NICE)))
		return 0;
	child_set_nice(nice);
	for (int i = 0; i < STARTED_MAX; i++)
		if (s->started[i].pidfd >= 0 && !has_ended(s->started[i].pidfd))
			setpriority(PRIO_PROCESS, (id_t)s->started[i].pid, nice);
	return 0;
}

static int obey_clock(void *ctx, struct orders_call *call)
{
	const struct starter_order *order = call->order;
	const struct cpu_clock clock = {
		.period_ns = order->period_ns,
		.cpu = order->cpu,
		.cgroup_fd = call->given,
		.code = order->code,
	};
	struct starter_answer *answer = call->answer;

	(void)ctx;
	answer->err = cpu_clock_open(&clock, &call->fd);
	return 0;
}

/* Where there is no place for a guest, it is not one. */
static int start_capture(struct serving *s, struct orders_call *call, struct child *child)
{
	_cleanup_fd_ int ours = -1, theirs = -1, program = -1, messages = fd_memory("messages");
	_cleanup_fd_ int maps = -1;
	struct capture capture = { .duties = s->duties, .order = call->order };
	struct starter_answer *answer = call->answer;
	const char *refused;
	uid_t user = users_of_program(&program, &refused);
	int fds[] = { -1, call->given, messages, -1, program, -1 }, err = 0;
	const struct child_plan plan = { .run = run_capture,
		.ctx = &capture,
		.fds = fds,
		.fds_len = ARRAY_SIZE(fds) - !(capture.order->maps && s->duties->maps),
		.signals = CHILD_SIGNALS_OPEN,
		.death_signal = SIGKILL,
		.user = user,
		.limited = true,
		.caps = s->duties->caps,
		.nice = SAMPLING_NICE,
		.sibling = true };

	if (messages < 0 || program < 0)
		return messages < 0 ? messages : -EACCES;
	if (refused)
		snprintf(answer->refused, sizeof(answer->refused), "%s", refused);
	capture.clocks = fd_pair(&ours, &theirs) == 0 && orders_admit(&s->orders, &ours) == 0;
	if (capture.clocks)
		fds[3] = theirs;
	if (plan.fds_len == ARRAY_SIZE(fds))
		err = start_maps(s->duties, &maps);
	fds[5] = maps;
	if (err == 0)
		err = child_start(&plan, child);
	if (err == 0)
		call->fd = TAKE_FD(messages);
	return err;
}

static int obey_capture(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct starter_answer *answer = call->answer;
	struct child *room = find_room(s->started);

	if (call->given < 0)
		return -EPROTO;
	answer->err = room ? start_capture(s, call, room) : -EAGAIN;
	if (answer->err == 0)
		answer->pid = room->pid;
	return 0;
}

static void fill_table(const struct starter_duties *duties, struct orders_row *rows)
{
	bool starts = duties->program || duties->openers || duties->capture;

	if (duties->program)
		rows[STARTER_START] = (struct orders_row){ ORDERS_OWNER, obey_start };
	if (duties->program)
		rows[STARTER_PACE] = (struct orders_row){ ORDERS_OWNER, obey_pace };
	if (duties->openers)
		rows[STARTER_OPENER] = (struct orders_row){ ORDERS_OWNER, obey_opener };
	if (starts)
		rows[STARTER_SIGNAL] = (struct orders_row){ ORDERS_OWNER, obey_signal };
	if (duties->capture)
		rows[STARTER_CAPTURE] = (struct orders_row){ ORDERS_OWNER, obey_capture };
	if (duties->clocks || duties->capture)
		rows[STARTER_CLOCK] = (struct orders_row){ (duties->clocks ? ORDERS_OWNER : 0) |
				(duties->capture ? ORDERS_GUEST : 0),
			obey_clock };
}

/* Its children inherit this. A capture has programs of its own for the kernel. */
static int deny_calls(const struct starter_duties *duties)
{
	unsigned int what = FILTER_DENY_KERNEL;

	if (!duties->capture)
		what |= FILTER_DENY_BPF;
	if (!duties->capture && !duties->clocks)
		what |= FILTER_DENY_EVENTS;
	return filter_deny(what);
}

static int run_starter(void *ctx, int fd)
{
	const struct starter_duties *duties = ctx;
	struct orders_row rows[STARTER_ORDERS] = { { 0 } };
	struct serving s = { .duties = duties,
		.orders = { .rows = rows,
			.rows_len = STARTER_ORDERS,
			.order_bytes = sizeof(struct starter_order),
			.answer_bytes = sizeof(struct starter_answer),
			.unsent = on_unsent,
			.ctx = &s } };

	fill_table(duties, rows);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (deny_calls(duties) < 0)
		return WORKER_EXIT_SANDBOX;
	for (int i = 0; i < STARTED_MAX; i++)
		s.started[i] = (struct child)CHILD_INIT;
	orders_serve(&s.orders, fd);
	signal_started(&s, 0, SIGKILL);
	return 0;
}

/* ---- its owner ------------------------------------------------------------------------------ */

int starter_open(struct starter *starter, const struct starter_duties *duties)
{
	const struct child_plan plan = { .run = run_starter,
		.ctx = (void *)duties,
		.name = "stoker-starter",
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.death_signal = SIGCONT,
		.limited = true,
		.caps = (geteuid() == 0 ? KEPT : 0) | (duties->openers ? OPENING_CAPS : 0) |
			(duties->capture ? duties->caps : 0) |
			(duties->maps ? duties->maps_caps : 0),
		.nice = SAMPLING_NICE };

	return child_start(&plan, &starter->child);
}

/* starter_wake of the starter itself: by our own hand, as asking it is what waits for it. */
static void wake_itself(struct starter *starter)
{
	if (!child_was_stopped(&starter->child))
		return;
	starter->stopped++;
	child_signal(&starter->child, SIGCONT);
	child_was_stopped(&starter->child);
}

/* In short waits: one of them may last long, if a freezer or a hypervisor stops us both. */
static int await_answer(struct starter *starter)
{
	struct pollfd ready = { .fd = starter->child.fd, .events = POLLIN };

	for (int i = 0; i < LOOKS; i++) {
		if (poll(&ready, 1, LOOK_MS) == 1)
			return 0;
		wake_itself(starter);
	}
	return -EPIPE;
}

/* A starter may be stopped, or in a call that waits: then it is killed and left. */
void starter_close(struct starter *starter)
{
	fd_close(&starter->child.fd);
	if (child_wait(&starter->child, LOOKS * LOOK_MS, NULL) == -EAGAIN)
		child_signal(&starter->child, SIGKILL);
	child_leave(&starter->child);
}

static void lose(struct starter *starter)
{
	starter->lost |= starter->child.fd >= 0;
	child_signal(&starter->child, SIGKILL);
	child_leave(&starter->child);
}

/* given: goes with the order, or -1; pid, fd: NULL: not wanted. -EPIPE: there is no starter, or it
 * does not answer. */
static int ask(
	struct starter *starter, const struct starter_order *order, int given, pid_t *pid, int *fd)
{
	_cleanup_fd_ int came = -1;
	struct starter_answer answer = { 0 };
	int err = starter->child.fd < 0
		? -EPIPE
		: orders_send(starter->child.fd, order, sizeof(*order), given);

	if (err == 0)
		err = await_answer(starter);
	if (err == 0)
		err = orders_answer(starter->child.fd, &answer, sizeof(answer), &came);
	starter->unsent += err == -ETOOMANYREFS;
	if (err < 0 && err != -ETOOMANYREFS)
		lose(starter);
	if (err < 0)
		return err;
	if (answer.err < 0)
		return answer.err;
	if (pid)
		*pid = answer.pid;
	if (fd)
		*fd = TAKE_FD(came);
	return 0;
}

/* The starter's answer is a process. */
static int ask_started(
	struct starter *starter, const struct starter_order *order, struct child *child)
{
	pid_t pid;
	int fd, err = ask(starter, order, -1, &pid, &fd);

	if (err == 0)
		child_adopt(child, pid, fd);
	return err;
}

/* A process that was taken over may not read: to send to it must not wait. */
static int unblocked(const struct child *child, int err)
{
	if (err == 0)
		(void)fcntl(child->fd, F_SETFL, O_NONBLOCK); /* of a socket it cannot fail */
	return err;
}

int starter_start(struct starter *starter, const char *argument, struct child *child)
{
	struct starter_order order = { .kind = STARTER_START };

	snprintf(order.argument, sizeof(order.argument), "%s", argument);
	return unblocked(child,
		starter->child.fd < 0 && !starter->lost ? start_process(argument, false, child)
							: ask_started(starter, &order, child));
}

int starter_opener(struct starter *starter, struct child *child)
{
	const struct starter_order order = { .kind = STARTER_OPENER };

	return unblocked(child,
		starter->child.fd < 0 && !starter->lost ? start_opener(false, child)
							: ask_started(starter, &order, child));
}

bool starter_lost(struct starter *starter)
{
	struct pollfd gone = { .fd = starter->child.fd };

	if (starter->child.fd >= 0 && poll(&gone, 1, 0) == 1)
		lose(starter);
	return starter->lost;
}

static void send_signal(struct starter *starter, pid_t pid, int signal)
{
	const struct starter_order order = {
		.kind = STARTER_SIGNAL, .pid = pid, .signal = signal
	};

	if (kill(pid, signal) < 0 && errno != ESRCH && pid != starter->child.pid)
		ask(starter, &order, -1, NULL, NULL);
}

void starter_kill(struct starter *starter, pid_t pid)
{
	send_signal(starter, pid, SIGKILL);
}

/* The last look is for what we did ourselves. */
bool starter_wake(struct starter *starter, const struct child *child)
{
	if (!child_was_stopped(child))
		return false;
	starter->stopped++;
	send_signal(starter, child->pid, SIGCONT);
	child_was_stopped(child);
	return true;
}

void starter_pace(struct starter *starter, bool normal)
{
	const struct starter_order order = { .kind = STARTER_PACE, .normal = normal };

	if (starter->child.fd >= 0)
		ask(starter, &order, -1, NULL, NULL);
}

int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd)
{
	const struct starter_order order = {
		.kind = STARTER_CLOCK,
		.cpu = clock->cpu,
		.code = clock->code,
		.period_ns = clock->period_ns,
	};

	return ask(starter, &order, clock->cgroup_fd, NULL, fd);
}

int starter_capture(struct starter *starter, const void *wanted, size_t size, bool maps, int out,
	struct child *child, int *messages)
{
	struct starter_order order = { .kind = STARTER_CAPTURE, .maps = maps };
	pid_t pid;
	int err;

	assert(size <= sizeof(order.wanted));
	memcpy(order.wanted, wanted, size);
	err = ask(starter, &order, out, &pid, messages);
	if (err == 0)
		child_adopt(child, pid, -1);
	return err;
}
