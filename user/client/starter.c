/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.c - orders and answers are messages of fixed size over a socket pair, each with a
 * descriptor or none; the owner's end closing is the end. It is forked, not executed, and holds
 * nothing but its sockets and pidfds of what it started. No new privileges: what it starts cannot
 * have more than it, also where this program has file capabilities. A guest is not waited for. */
#include "client/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "wire/proto.h"
#include "worker/worker.h"

#define SOCKET_BYTES (4 * PROTO_BYTES_MAX)
#define MOVED_FD_MIN 10
#define STARTED_MAX 64
#define ARGUMENT_BYTES 16

/* Namespaces, an empty root, clocks; the worker's user; no bounding set; an end. */
#define KEPT                                                                         \
	(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_SETUID) | \
		CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETPCAP) | CAPS_BIT(CAP_KILL))

enum order_kind { ORDER_START, ORDER_KILL, ORDER_CLOCK, ORDER_GUEST };

struct order {
	enum order_kind kind;
	char argument[ARGUMENT_BYTES]; /* start */
	pid_t pid;                     /* kill */
	int cpu;                       /* clock; a cgroup's folder goes with it */
	uint64_t period_ns;
};

struct answer {
	int err;
	pid_t pid;
};

struct started {
	pid_t pid;
	int pidfd;
};

/* ---- a process ------------------------------------------------------------------------------ */

/* Leaves /dev/null as the first three, and the socket as the only one behind them. */
static int keep_only(int socket)
{
	int moved = fcntl(socket, F_DUPFD, MOVED_FD_MIN);
	int null = -1, err = moved < 0 ? -errno : fd_open_null(0, &null);

	if (err < 0)
		return err;
	for (int fd = 0; fd < WORKER_FD; fd++)
		if (null != fd && dup2(null, fd) < 0)
			return -errno;
	if (dup2(moved, WORKER_FD) < 0 || close_range(WORKER_FD + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
}

_Noreturn static void become_worker(const char *argument, int socket)
{
	char *argv[] = { "stoker", (char *)argument, NULL }, *env[] = { NULL };

	if (keep_only(socket) == 0)
		execve("/proc/self/exe", argv, env);
	_exit(WORKER_EXIT_SOCKET);
}

static void set_buffer(int fd)
{
	int size = SOCKET_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

/* flags: of clone(2), with CLONE_PIDFD. As its parent's parent's child, if they say so. Signals
 * stay blocked until the worker has said that it ignores them: one that comes to the whole group,
 * from a terminal, must not end it. */
static int start_process(const char *argument, unsigned long flags, int *fd, pid_t *pid, int *pidfd)
{
	sigset_t all, old;
	int pair[2], child_pidfd = -1, err = 0;
	long child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	set_buffer(pair[0]);
	set_buffer(pair[1]);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	child = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, &child_pidfd, NULL, NULL);
	if (child == 0)
		become_worker(argument, pair[1]);
	if (child < 0)
		err = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	fd_close(&pair[1]);
	if (err < 0) {
		fd_close(&pair[0]);
		return err;
	}
	*fd = pair[0];
	*pid = (pid_t)child;
	*pidfd = child_pidfd;
	return 0;
}

/* ---- the starter ---------------------------------------------------------------------------- */

static bool has_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 1;
}

/* NULL: as many as there is room for. */
static struct started *find_room(struct started *all)
{
	for (int i = 0; i < STARTED_MAX; i++) {
		if (all[i].pidfd >= 0 && has_ended(all[i].pidfd))
			fd_close(&all[i].pidfd);
		if (all[i].pidfd < 0)
			return &all[i];
	}
	return NULL;
}

static int obey_start(struct started *all, const char *argument, int *fd, pid_t *pid)
{
	struct started *room = find_room(all);
	int err = room ? start_process(argument, CLONE_PARENT, fd, pid, &room->pidfd) : -EAGAIN;

	if (err == 0)
		room->pid = *pid;
	return err;
}

/* By pidfd: a number that is another process's by now is nothing to us. */
static int obey_kill(const struct started *all, pid_t pid)
{
	for (int i = 0; i < STARTED_MAX; i++)
		if (all[i].pidfd >= 0 && all[i].pid == pid)
			syscall(SYS_pidfd_send_signal, all[i].pidfd, SIGKILL, NULL, 0);
	return 0;
}

struct serving {
	struct started started[STARTED_MAX];
	struct pollfd sockets[1 + STARTER_GUESTS_MAX]; /* the owner's first; -1: a free place */
};

static int obey_guest(struct serving *s, int *given)
{
	for (size_t i = 1; i < ARRAY_SIZE(s->sockets); i++) {
		if (s->sockets[i].fd >= 0)
			continue;
		if (*given < 0 || fcntl(*given, F_SETFL, O_NONBLOCK) < 0)
			return -EINVAL;
		s->sockets[i].fd = *given;
		*given = -1;
		return 0;
	}
	return -EAGAIN;
}

static int obey(struct serving *s, struct order *order, int *given, struct answer *answer, int *fd)
{
	const struct cpu_clock clock = {
		.period_ns = order->period_ns, .cpu = order->cpu, .cgroup_fd = *given
	};

	switch (order->kind) {
	case ORDER_START:
		order->argument[ARGUMENT_BYTES - 1] = '\0';
		return obey_start(s->started, order->argument, fd, &answer->pid);
	case ORDER_KILL:
		return obey_kill(s->started, order->pid);
	case ORDER_CLOCK:
		return cpu_clock_open(&clock, fd);
	case ORDER_GUEST:
		return obey_guest(s, given);
	default:
		return -EINVAL;
	}
}

/* One order. Negative: this end says no more, or nothing that it may. */
static int hear(struct serving *s, int socket, bool is_owner)
{
	_cleanup_fd_ int given = -1, fd = -1;
	struct answer answer = { 0 };
	struct order order;
	int err = fd_take(socket, 0, &order, sizeof(order), &given);

	if (err == -EAGAIN)
		return 0;
	if (err == 0 && !is_owner && order.kind != ORDER_CLOCK)
		err = -EPERM;
	if (err < 0)
		return err;
	answer.err = obey(s, &order, &given, &answer, &fd);
	return fd_pass(socket, &answer, sizeof(answer), fd);
}

_Noreturn static void serve(int socket)
{
	struct serving s;

	for (int i = 0; i < STARTED_MAX; i++)
		s.started[i].pidfd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(s.sockets); i++)
		s.sockets[i] = (struct pollfd){ .fd = i == 0 ? socket : -1, .events = POLLIN };
	for (;;) {
		poll(s.sockets, ARRAY_SIZE(s.sockets), -1);
		for (size_t i = 1; i < ARRAY_SIZE(s.sockets); i++)
			if (s.sockets[i].revents && hear(&s, s.sockets[i].fd, false) < 0)
				fd_close(&s.sockets[i].fd);
		if (s.sockets[0].revents && hear(&s, socket, true) < 0)
			_exit(0);
	}
}

_Noreturn static void become_starter(int socket)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "stoker-starter");
	if (keep_only(socket) < 0 || caps_limit(geteuid() == 0 ? KEPT : 0) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(WORKER_EXIT_SANDBOX);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	serve(WORKER_FD);
}

/* ---- its owner ------------------------------------------------------------------------------ */

int starter_open(struct starter *starter)
{
	_cleanup_fd_ int fd = -1;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	fd = pair[0];
	pid = fork();
	if (pid == 0)
		become_starter(pair[1]);
	fd_close(&pair[1]);
	if (pid < 0)
		return -errno;
	*starter = (struct starter){ .pid = pid, .fd = TAKE_FD(fd) };
	return 0;
}

void starter_close(struct starter *starter)
{
	fd_close(&starter->fd);
	while (starter->pid > 0 && waitpid(starter->pid, NULL, 0) < 0 && errno == EINTR)
		;
	starter->pid = 0;
}

/* What goes with it, or -1. -EPIPE: it is gone. */
static int ask(struct starter *starter, const struct order *order, int given, pid_t *pid, int *fd)
{
	_cleanup_fd_ int sent = -1;
	struct answer answer = { 0 };
	int err;

	if (starter->fd < 0)
		return -EPIPE;
	err = fd_pass(starter->fd, order, sizeof(*order), given);
	if (err == 0)
		err = fd_take(starter->fd, 0, &answer, sizeof(answer), &sent);
	if (err < 0) {
		starter_close(starter);
		return -EPIPE;
	}
	if (answer.err < 0)
		return answer.err;
	*pid = answer.pid;
	*fd = TAKE_FD(sent);
	return 0;
}

int starter_start(struct starter *starter, const char *argument, int *fd, pid_t *pid)
{
	struct order order = { .kind = ORDER_START };
	_cleanup_fd_ int pidfd = -1;
	int err;

	snprintf(order.argument, sizeof(order.argument), "%s", argument);
	err = ask(starter, &order, -1, pid, fd);
	return err == -EPIPE ? start_process(argument, 0, fd, pid, &pidfd) : err;
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
	int pair[2], none = -1, err;
	pid_t ignored;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	err = ask(starter, &order, theirs, &ignored, &none);
	if (err == 0)
		*fd = TAKE_FD(ours);
	return err;
}
