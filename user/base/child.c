/* SPDX-License-Identifier: Apache-2.0 */
/* base/child.c - the only place that forks and reaps. The parent blocks all signals while it forks,
 * so the child handles none before it has the mask of its plan. The child has exactly the
 * descriptors of its plan; a child whose plan cannot be had ends with CHILD_EXIT before it runs. */
#include "base/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"

#define STAT_BYTES_MAX 4096
#define CHILDREN_BYTES_MAX 65536

const int child_standard[CHILD_STANDARD] = { 0, 1, 2 };
const int child_null[CHILD_STANDARD] = { -1, -1, -1 };

/* ---- in the child --------------------------------------------------------------------------- */

/* All are copied first: a source may be in another one's place. The copies' numbers ascend, so none
 * is below its place and none is overwritten before its turn. */
static int place_fds(const struct child_plan *plan, int *socket)
{
	int moved[CHILD_FDS_MAX + 1], null = -1, len = (int)plan->fds_len;
	int err = fd_open_null(0, &null);

	for (int i = 0; i < len && err == 0; i++) {
		moved[i] = dup(plan->fds[i]);
		if (moved[i] < 0 && errno == EBADF)
			moved[i] = dup(null);
		err = moved[i] < 0 ? -errno : 0;
	}
	if (err == 0 && *socket >= 0) {
		moved[len] = dup(*socket);
		err = moved[len] < 0 ? -errno : 0;
		*socket = len++;
	}
	for (int i = 0; i < len && err == 0; i++)
		err = dup2(moved[i], i) < 0 ? -errno : 0;
	return err == 0 && close_range((unsigned int)len, UINT_MAX, 0) < 0 ? -errno : err;
}

/* struct sched_attr of sched_setattr(2) in its first size. The kernel's header for it and libc's
 * <sched.h> exclude each other. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* The kernel lets who runs finish a slice before it looks at who woke up, unless the slice of the
 * latter is shorter (Linux 6.12; earlier ones ignore it). It takes no right and gives no more
 * time. */
static void set_slice(void)
{
	struct attributes a = { 0 };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.policy != SCHED_OTHER)
		return;
	a.runtime_ns = CHILD_SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

uint64_t child_slice_ns(void)
{
	struct attributes a = { 0 };

	return syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 ? a.runtime_ns : 0;
}

void child_set_own_nice(int nice)
{
	setpriority(PRIO_PROCESS, 0, nice);
	set_slice();
}

void child_set_nice(int nice)
{
	int fd;

	child_set_own_nice(nice);
	if (getsid(0) != getpid())
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		dprintf(fd, "%d", nice);
	fd_close(&fd);
}

static int become(const struct child_plan *plan, pid_t parent, const sigset_t *before, int *socket)
{
	sigset_t none;
	int err = 0;

	if (plan->limited)
		(void)caps_raise(); /* to the last line that limits them */
	if (plan->fds)
		err = place_fds(plan, socket);
	if (plan->name)
		prctl(PR_SET_NAME, plan->name, 0, 0, 0);
	if (plan->nice) {
		setsid();
		child_set_nice(plan->nice);
	}
	if (plan->limited)
		caps_bound(plan->caps);
	if (err == 0 && plan->user)
		err = caps_become(plan->user);
	if (err == 0 && plan->limited)
		err = caps_limit(plan->caps);
	if (err == 0 && plan->limited && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		err = -errno;
	/* A change of the user undoes it, so not before. */
	if (err == 0 && plan->death_signal &&
		(prctl(PR_SET_PDEATHSIG, plan->death_signal, 0, 0, 0) < 0 || getppid() != parent))
		err = -ESRCH;
	sigemptyset(&none);
	if (err == 0 && plan->signals != CHILD_SIGNALS_BLOCKED)
		sigprocmask(
			SIG_SETMASK, plan->signals == CHILD_SIGNALS_OPEN ? &none : before, NULL);
	return err;
}

/* ---- in its parent -------------------------------------------------------------------------- */

/* Only clone(2) makes a sibling. libc does not know of it, so its function should execute a program
 * soon. */
static pid_t clone_sibling(int *pidfd)
{
	return (pid_t)syscall(
		SYS_clone, CLONE_PARENT | CLONE_PIDFD | SIGCHLD, NULL, pidfd, NULL, NULL);
}

int child_start(const struct child_plan *plan, struct child *child)
{
	struct child made = CHILD_INIT;
	int theirs = -1, err = plan->socket ? fd_pair(&made.fd, &theirs) : 0;
	pid_t parent = plan->sibling ? getppid() : getpid();
	sigset_t all, before;

	assert(plan->fds_len <= CHILD_FDS_MAX);
	if (err < 0)
		return err;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	made.pid = plan->sibling ? clone_sibling(&made.pidfd) : fork();
	if (made.pid == 0) {
		fd_close(&made.fd);
		err = become(plan, parent, &before, &theirs);
		_exit(err < 0 ? CHILD_EXIT : plan->run(plan->ctx, theirs));
	}
	if (made.pid < 0)
		err = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	fd_close(&theirs);
	if (err < 0) {
		fd_close(&made.fd);
		return err;
	}
	if (!plan->sibling)
		made.pidfd = (int)syscall(SYS_pidfd_open, made.pid, 0);
	made.deadline_ns = plan->deadline_ns;
	*child = made;
	return 0;
}

void child_adopt(struct child *child, pid_t pid, int fd)
{
	*child = (struct child){
		.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0), .fd = fd
	};
}

/* How long the next wait may last. */
static int patience_ms(const struct child *child, int wait_ms)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), left_ms;

	if (child->deadline_ns == 0 || child->late)
		return wait_ms;
	if (now >= child->deadline_ns)
		return 0;
	left_ms = (child->deadline_ns - now) / NSEC_PER_MSEC + 1;
	if (wait_ms >= 0 && (uint64_t)wait_ms < left_ms)
		return wait_ms;
	return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static void kill_late(struct child *child)
{
	if (child->deadline_ns == 0 || clock_ns(CLOCK_MONOTONIC) < child->deadline_ns)
		return;
	child->late = true;
	kill(child->pid, SIGKILL);
}

int child_wait(struct child *child, int wait_ms, struct child_end *end)
{
	struct pollfd ended = { .fd = child->pidfd, .events = POLLIN };
	struct rusage usage = { 0 };
	int status = 0;
	pid_t got = 0;

	if (end)
		*end = (struct child_end){ 0 };
	if (child->pid == 0)
		return -ECHILD;
	while (got == 0) {
		int ms = patience_ms(child, wait_ms);

		if (ms > 0 && (child->pidfd >= 0 || wait_ms < 0))
			poll(&ended, 1, ms);
		do
			got = wait4(child->pid, &status, ms < 0 ? 0 : WNOHANG, &usage);
		while (got < 0 && errno == EINTR);
		if (got == 0)
			kill_late(child);
		if (got == 0 && wait_ms >= 0)
			return -EAGAIN;
	}
	fd_close(&child->pidfd);
	child->pid = 0;
	if (got < 0)
		return -ECHILD;
	if (end)
		*end = (struct child_end){ .status = status,
			.cpu_ns = clock_usage_ns(&usage),
			.rss_max_kb = (uint64_t)usage.ru_maxrss,
			.late = child->late };
	return 0;
}

char child_state(const struct child *child)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *end;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", child->pid);
	if (fd_read_path(path, STAT_BYTES_MAX, &text) < 0 || buf_putc(&text, '\0') < 0)
		return '\0';
	end = strrchr(text.data, ')'); /* of its name */
	if (!end || end[1] != ' ')
		return '\0';
	return end[2];
}

bool child_is_busy(const struct child *child)
{
	return child_state(child) == 'R';
}

bool child_was_stopped(const struct child *child)
{
	siginfo_t info = { 0 };

	return child->pid > 0 &&
		waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
		info.si_pid != 0;
}

bool child_was_killed(const struct child *child, int wait_ms)
{
	struct pollfd ended = { .fd = child->pidfd, .events = POLLIN };
	siginfo_t info = { 0 };

	if (child->pid <= 0)
		return false;
	if (child->pidfd >= 0)
		poll(&ended, 1, wait_ms);
	return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

void child_signal(const struct child *child, int signal)
{
	if (child->pid > 0)
		kill(child->pid, signal);
}

void child_close(struct child *child, struct child_end *end)
{
	fd_close(&child->fd);
	child_signal(child, SIGCONT);
	child_wait(child, -1, end);
}

void child_reap_orphans(const struct child *own)
{
	siginfo_t ended = { 0 };

	/* The first stays a zombie if it is our own: its owner waits for it. */
	while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0 &&
		ended.si_pid != own->pid) {
		waitpid(ended.si_pid, NULL, WNOHANG);
		ended.si_pid = 0;
	}
}

static bool is_of_another_user(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (fd_read_path(path, STAT_BYTES_MAX, &text) < 0 || buf_putc(&text, '\0') < 0)
		return false;
	line = strstr(text.data, "\nUid:");
	return line && strtoul(line + strlen("\nUid:"), NULL, 10) != getuid();
}

unsigned int child_kill_orphans(const struct child *own, bool all)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	unsigned int len = 0;
	char *at, *end;
	pid_t pid;

	if (fd_read_path("/proc/thread-self/children", CHILDREN_BYTES_MAX, &text) < 0 ||
		buf_putc(&text, '\0') < 0)
		return 0;
	for (at = text.data; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
		if (pid == own->pid)
			continue;
		len++;
		if (all || is_of_another_user(pid))
			kill(pid, SIGKILL);
	}
	return len;
}

void child_leave(struct child *child)
{
	fd_close(&child->fd);
	child_wait(child, 0, NULL);
	fd_close(&child->pidfd);
	*child = (struct child)CHILD_INIT;
}
