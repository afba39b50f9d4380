/* SPDX-License-Identifier: Apache-2.0 */
/* worker/starter.c - orders and answers are messages of fixed size over a socket pair; the other
 * end closing is the end. It is forked, not executed, and holds nothing but its socket and pidfds
 * of what it started. No new privileges: what it starts cannot have more than it, also where this
 * program has file capabilities. */
#include "worker/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "worker/proto.h"
#include "worker/worker.h"

#define SOCKET_BYTES (4 * PROTO_BYTES_MAX)
#define MOVED_FD_MIN 10
#define STARTED_MAX 64
#define ARGUMENT_BYTES 16

/* Namespaces and an empty root; the worker's user; no bounding set; an end. */
#define KEPT                                                                         \
	(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_CHROOT) | CAPS_BIT(CAP_SETUID) | \
		CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETPCAP) | CAPS_BIT(CAP_KILL))

struct order {
	char argument[ARGUMENT_BYTES]; /* "": kill */
	pid_t pid;
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
	int null = open("/dev/null", O_RDWR);

	if (moved < 0 || null < 0)
		return -errno;
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

_Noreturn static void serve(int socket)
{
	struct started all[STARTED_MAX];
	struct order order;

	for (int i = 0; i < STARTED_MAX; i++)
		all[i].pidfd = -1;
	while (recv(socket, &order, sizeof(order), 0) == sizeof(order)) {
		struct answer answer = { 0 };
		_cleanup_fd_ int fd = -1;

		order.argument[ARGUMENT_BYTES - 1] = '\0';
		answer.err = order.argument[0] ? obey_start(all, order.argument, &fd, &answer.pid)
					       : obey_kill(all, order.pid);
		if (fd_pass(socket, &answer, sizeof(answer), fd) < 0)
			break;
	}
	_exit(0);
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
	if (starter->pid == 0)
		return;
	fd_close(&starter->fd);
	while (waitpid(starter->pid, NULL, 0) < 0 && errno == EINTR)
		;
	starter->pid = 0;
}

/* -EPIPE: it is gone. */
static int ask(struct starter *starter, const struct order *order, pid_t *pid, int *fd)
{
	_cleanup_fd_ int sent = -1;
	struct answer answer;

	if (starter->pid == 0)
		return -EPIPE;
	if (send(starter->fd, order, sizeof(*order), MSG_NOSIGNAL) != sizeof(*order) ||
		fd_take(starter->fd, 0, &answer, sizeof(answer), &sent) < 0) {
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
	struct order order = { 0 };
	_cleanup_fd_ int pidfd = -1;
	int err;

	snprintf(order.argument, sizeof(order.argument), "%s", argument);
	err = ask(starter, &order, pid, fd);
	return err == -EPIPE ? start_process(argument, 0, fd, pid, &pidfd) : err;
}

void starter_kill(struct starter *starter, pid_t pid)
{
	const struct order order = { .pid = pid };
	pid_t ignored;
	int none = -1;

	if (kill(pid, SIGKILL) < 0 && errno == EPERM)
		ask(starter, &order, &ignored, &none);
}
