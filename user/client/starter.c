/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.c - the starter serves orders (base/orders.h) and has no descriptors but its
 * sockets and the pidfds of the processes that it started. It is forked, not executed. It may gain
 * no privileges, so a process that it starts has at most its own, also where this program has file
 * capabilities. It never waits for a guest. */
#include "client/starter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/orders.h"
#include "base/own.h"
#include "wire/proto.h"
#include "worker/opening.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define SOCKET_BYTES (4 * PROTO_BYTES_MAX)
#define STARTED_MAX 64
#define ARGUMENT_BYTES 16

/* For namespaces and an empty root, a worker's user, its bounding set, and to end it. */
#define KEPT                                                                         \
	(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_SETUID) | \
		CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETPCAP) | CAPS_BIT(CAP_KILL))

enum order_kind { ORDER_START, ORDER_KILL, ORDER_CLOCK, ORDER_GUEST, ORDER_OPENER };

struct order {
	uint32_t kind;
	char argument[ARGUMENT_BYTES]; /* start */
	pid_t pid;                     /* kill */
	int cpu;                       /* clock; a cgroup's folder goes with it */
	uint64_t period_ns;
};

struct answer {
	int err;
	pid_t pid;
};

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

/* It has no program of its own: it makes system calls, and needs little of libc. */
static int start_opener(bool sibling, struct child *child)
{
	const struct child_plan plan = { .run = opening_run,
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.limited = true,
		.caps = OPENING_CAPS,
		.sibling = sibling };

	return child_start(&plan, child);
}

/* ---- the starter ---------------------------------------------------------------------------- */

struct serving {
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

static int obey_start(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct order *order = call->order;
	struct answer *answer = call->answer;
	struct child *room = find_room(s->started);

	order->argument[ARGUMENT_BYTES - 1] = '\0';
	answer->err = room ? start_process(order->argument, true, room) : -EAGAIN;
	if (answer->err == 0) {
		answer->pid = room->pid;
		call->fd = TAKE_FD(room->fd);
	}
	return 0;
}

static int obey_opener(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct answer *answer = call->answer;
	struct child *room = find_room(s->started);

	answer->err = room ? start_opener(true, room) : -EAGAIN;
	if (answer->err == 0) {
		answer->pid = room->pid;
		call->fd = TAKE_FD(room->fd);
	}
	return 0;
}

/* By pidfd: the number may be another process's by now. */
static int obey_kill(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	const struct order *order = call->order;

	for (int i = 0; i < STARTED_MAX; i++)
		if (s->started[i].pidfd >= 0 && s->started[i].pid == order->pid)
			syscall(SYS_pidfd_send_signal, s->started[i].pidfd, SIGKILL, NULL, 0);
	return 0;
}

static int obey_clock(void *ctx, struct orders_call *call)
{
	const struct order *order = call->order;
	const struct cpu_clock clock = {
		.period_ns = order->period_ns, .cpu = order->cpu, .cgroup_fd = call->given
	};
	struct answer *answer = call->answer;

	(void)ctx;
	answer->err = cpu_clock_open(&clock, &call->fd);
	return 0;
}

static int obey_guest(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct answer *answer = call->answer;

	answer->err = orders_admit(&s->orders, &call->given);
	return 0;
}

static const struct orders_row rows[] = {
	[ORDER_START] = { ORDERS_OWNER, obey_start },
	[ORDER_KILL] = { ORDERS_OWNER, obey_kill },
	[ORDER_CLOCK] = { ORDERS_OWNER | ORDERS_GUEST, obey_clock },
	[ORDER_GUEST] = { ORDERS_OWNER, obey_guest },
	[ORDER_OPENER] = { ORDERS_OWNER, obey_opener },
};

static int run_starter(void *ctx, int fd)
{
	struct serving s = { .orders = { .rows = rows,
				     .rows_len = ARRAY_SIZE(rows),
				     .order_bytes = sizeof(struct order),
				     .answer_bytes = sizeof(struct answer),
				     .ctx = &s } };

	(void)ctx;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (sandbox_deny(SANDBOX_DENY_KERNEL) < 0)
		return WORKER_EXIT_SANDBOX;
	for (int i = 0; i < STARTED_MAX; i++)
		s.started[i] = (struct child)CHILD_INIT;
	orders_serve(&s.orders, fd);
	return 0;
}

/* ---- its owner ------------------------------------------------------------------------------ */

int starter_open(struct starter *starter)
{
	const struct child_plan plan = { .run = run_starter,
		.name = "stoker-starter",
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.limited = true,
		.caps = (geteuid() == 0 ? KEPT : 0) | OPENING_CAPS,
		.nice = SAMPLING_NICE };

	return child_start(&plan, &starter->child);
}

void starter_close(struct starter *starter)
{
	child_close(&starter->child, NULL);
}

static void lose(struct starter *starter)
{
	starter->lost |= starter->child.fd >= 0;
	starter_close(starter);
}

/* given: goes with the order, or -1. -EPIPE: there is no starter. */
static int ask(struct starter *starter, const struct order *order, int given, pid_t *pid, int *fd)
{
	_cleanup_fd_ int came = -1;
	struct answer answer = { 0 };
	int err = starter->child.fd < 0 ? -EPIPE
					: orders_ask(starter->child.fd, order, sizeof(*order),
						  given, &answer, sizeof(answer), &came);

	if (err < 0) {
		lose(starter);
		return err;
	}
	if (answer.err < 0)
		return answer.err;
	*pid = answer.pid;
	*fd = TAKE_FD(came);
	return 0;
}

int starter_start(struct starter *starter, const char *argument, struct child *child)
{
	struct order order = { .kind = ORDER_START };
	pid_t pid;
	int fd, err;

	if (starter->child.fd < 0 && !starter->lost)
		return start_process(argument, false, child);
	snprintf(order.argument, sizeof(order.argument), "%s", argument);
	err = ask(starter, &order, -1, &pid, &fd);
	if (err == 0)
		child_adopt(child, pid, fd);
	return err;
}

int starter_opener(struct starter *starter, struct child *child)
{
	const struct order order = { .kind = ORDER_OPENER };
	pid_t pid;
	int fd, err;

	if (starter->child.fd < 0 && !starter->lost)
		return start_opener(false, child);
	err = ask(starter, &order, -1, &pid, &fd);
	if (err == 0)
		child_adopt(child, pid, fd);
	return err;
}

bool starter_lost(struct starter *starter)
{
	struct pollfd gone = { .fd = starter->child.fd };

	if (starter->child.fd >= 0 && poll(&gone, 1, 0) == 1)
		lose(starter);
	return starter->lost;
}

void starter_kill(struct starter *starter, pid_t pid)
{
	const struct order order = { .kind = ORDER_KILL, .pid = pid };
	pid_t ignored;
	int none = -1;

	if (kill(pid, SIGKILL) < 0 && errno == EPERM)
		ask(starter, &order, -1, &ignored, &none);
}

int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd)
{
	const struct order order = {
		.kind = ORDER_CLOCK, .cpu = clock->cpu, .period_ns = clock->period_ns
	};
	pid_t ignored;

	return ask(starter, &order, clock->cgroup_fd, &ignored, fd);
}

int starter_invite(struct starter *starter, int *fd)
{
	const struct order order = { .kind = ORDER_GUEST };
	_cleanup_fd_ int ours = -1, theirs = -1;
	int none = -1, err = fd_pair(&ours, &theirs);
	pid_t ignored;

	if (err == 0)
		err = ask(starter, &order, theirs, &ignored, &none);
	if (err == 0)
		*fd = TAKE_FD(ours);
	return err;
}
