/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/capture.c - a child with two files in memory: stdout is its profile, stderr what it says.
 * It is executed anew and shares nothing with the daemon but its capabilities, which are handed on
 * as ambient ones, for where we are not root. It goes when the daemon goes, however that ends. */
#include "daemon/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define SAID_BYTES_MAX 4096
#define PREFIX "stoker: "
#define CLOCKS_ENV "STOKER_CLOCKS"
#define CLOCKS_FD 3
#define CLOCKS_TEXT "3"

struct capture {
	uint64_t id; /* 0: a free place */
	pid_t pid;
	int pidfd;
	int out, said;
	uint64_t ends_ns, kill_ns; /* CLOCK_MONOTONIC: expected; at the latest */
	int err;                   /* why it was killed */
};

struct captures {
	struct capture_limits limits;
	capture_done_fn done;
	void *ctx;
	int epoll_fd;
	struct capture all[CAPTURE_AT_ONCE_MAX];
	uint64_t starts[CAPTURE_A_MINUTE_MAX]; /* when the last ones began, in turn */
	uint64_t next_id;
	struct capture_stats stats;
};

/* ---- a child -------------------------------------------------------------------------------- */

/* As its standard files and the one behind them. */
static int place_fds(const struct capture *c, int clocks_fd)
{
	const int fds[] = { open("/dev/null", O_RDONLY | O_CLOEXEC), c->out, c->said, clocks_fd };
	int len = clocks_fd > 0 ? CLOCKS_FD + 1 : CLOCKS_FD;

	for (int i = 0; i < len; i++)
		if (fds[i] < 0 || dup2(fds[i], i) < 0 || fcntl(i, F_SETFD, 0) < 0)
			return -errno;
	if (close_range((unsigned int)len, ~0U, 0) < 0)
		return -errno;
	return (clocks_fd > 0 ? setenv(CLOCKS_ENV, CLOCKS_TEXT, 1) : unsetenv(CLOCKS_ENV)) < 0
		? -ENOMEM
		: 0;
}

int capture_clocks_fd(void)
{
	const char *text = secure_getenv(CLOCKS_ENV);
	bool given = text && strcmp(text, CLOCKS_TEXT) == 0;

	unsetenv(CLOCKS_ENV);
	return given && fcntl(CLOCKS_FD, F_SETFD, FD_CLOEXEC) == 0 ? CLOCKS_FD : 0;
}

_Noreturn static void become_record(
	const struct capture *c, const struct capture_order *order, pid_t parent)
{
	const char *const *words = order->words;
	const struct rlimit bytes = { CAPTURE_BYTES_MAX, CAPTURE_BYTES_MAX };
	const char *argv[CAPTURE_WORDS_MAX + 3] = { "stoker", "record" };
	sigset_t none;

	for (size_t i = 0; words[i]; i++)
		argv[i + 2] = words[i];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() == parent && caps_hand_on() == 0 && setrlimit(RLIMIT_FSIZE, &bytes) == 0 &&
		place_fds(c, order->clocks_fd) == 0)
		execv("/proc/self/exe", (char **)argv);
	_exit(127);
}

static void close_files(struct capture *c)
{
	fd_close(&c->pidfd);
	fd_close(&c->out);
	fd_close(&c->said);
}

static int start_child(struct capture *c, const struct capture_order *order)
{
	pid_t parent = getpid();

	c->pidfd = -1;
	c->out = memfd_create("capture", MFD_CLOEXEC);
	c->said = memfd_create("said", MFD_CLOEXEC);
	if (c->out < 0 || c->said < 0)
		return -errno;
	c->pid = fork();
	if (c->pid == 0)
		become_record(c, order, parent);
	if (c->pid < 0)
		return -errno;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

static void kill_child(struct capture *c, int err)
{
	if (c->err == 0)
		c->err = err;
	kill(c->pid, SIGKILL);
}

/* Its last line, as it is for a person. */
static void read_said(const struct capture *c, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *line;
	off_t end = lseek(c->said, 0, SEEK_END);

	lseek(c->said, end > SAID_BYTES_MAX ? end - SAID_BYTES_MAX : 0, SEEK_SET);
	if (fd_read_all(c->said, SAID_BYTES_MAX, &text) < 0 || text.len == 0) {
		why_set(why, 0, "it said nothing");
		return;
	}
	if (text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	line = strrchr(text.data, '\n');
	line = line ? line + 1 : text.data;
	if (strncmp(line, PREFIX, strlen(PREFIX)) == 0)
		line += strlen(PREFIX);
	why_set(why, 0, "%s", line);
}

/* ---- the pool ------------------------------------------------------------------------------- */

static void finish(struct captures *captures, struct capture *c, int status)
{
	struct capture_result result = { .id = c->id, .err = c->err, .fd = -1 };

	if (result.err == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		result.err = -EIO;
	read_said(c, &result.why);
	if (result.err == -EIO && WIFSIGNALED(status))
		why_set(&result.why, 0, "the capture was killed by signal %d", WTERMSIG(status));
	if (result.err == -ETIMEDOUT)
		why_set(&result.why, 0, "the capture took too long and was killed");
	if (lseek(c->out, 0, SEEK_SET) == 0)
		result.fd = TAKE_FD(c->out);
	close_files(c);
	c->id = 0;
	captures->stats.running--;
	if (result.err == 0)
		captures->stats.done++;
	else
		captures->stats.failed++;
	captures->done(captures->ctx, &result);
	fd_close(&result.fd);
}

/* True when it was there to be reaped. */
static bool reap(struct captures *captures, struct capture *c, int flags, int *status)
{
	struct rusage usage;
	pid_t pid;

	do
		pid = wait4(c->pid, status, flags, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid == c->pid)
		captures->stats.cpu_ns += clock_usage_ns(&usage);
	return pid != 0;
}

void captures_poll(struct captures *captures)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < captures->limits.at_once; i++) {
		struct capture *c = &captures->all[i];
		int status = 0;

		if (c->id == 0)
			continue;
		if (reap(captures, c, WNOHANG, &status))
			finish(captures, c, status);
		else if (now >= c->kill_ns)
			kill_child(c, -ETIMEDOUT);
	}
}

static struct capture *find_room(struct captures *captures)
{
	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (captures->all[i].id == 0)
			return &captures->all[i];
	return NULL;
}

/* Until the one that is expected to end first ends; at least a second, as that is a guess. */
static uint64_t next_end(const struct captures *captures, uint64_t now)
{
	uint64_t soonest = now + MINUTE_NS;

	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (captures->all[i].id > 0 && captures->all[i].ends_ns < soonest)
			soonest = captures->all[i].ends_ns;
	return soonest > now + NSEC_PER_SEC ? soonest - now : NSEC_PER_SEC;
}

static int check_limits(
	const struct captures *captures, uint64_t now, uint64_t *retry_ns, struct why *why)
{
	uint64_t oldest = captures->starts[captures->stats.started % captures->limits.a_minute];

	if (captures->stats.running == captures->limits.at_once) {
		*retry_ns = next_end(captures, now);
		return why_set(why, -EBUSY, "%zu captures run already, which is as many as may",
			captures->limits.at_once);
	}
	if (captures->stats.started >= captures->limits.a_minute && now < oldest + MINUTE_NS) {
		*retry_ns = oldest + MINUTE_NS - now;
		return why_set(why, -EAGAIN,
			"%zu captures were begun in the last minute, which is as many as may be",
			captures->limits.a_minute);
	}
	return 0;
}

int captures_start(struct captures *captures, const struct capture_order *order, uint64_t *id,
	uint64_t *retry_ns, struct why *why)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct capture *c = find_room(captures), started = { .id = captures->next_id, .pidfd = -1 };
	size_t words = 0;
	int err = check_limits(captures, now, retry_ns, why);

	if (err < 0) {
		captures->stats.refused++;
		return err;
	}
	while (order->words[words])
		words++;
	assert(c && words <= CAPTURE_WORDS_MAX);
	started.ends_ns = started.kill_ns = now + order->most_ns;
	err = start_child(&started, order);
	if (err == 0 && epoll_ctl(captures->epoll_fd, EPOLL_CTL_ADD, started.pidfd, &event) < 0)
		err = -errno;
	if (err < 0) {
		if (started.pid > 0) {
			kill_child(&started, err);
			waitpid(started.pid, NULL, 0);
		}
		close_files(&started);
		captures->stats.failed++;
		return why_set(why, err, "cannot start a capture: %s", err_text(err));
	}
	*c = started;
	captures->starts[captures->stats.started++ % captures->limits.a_minute] = now;
	captures->stats.running++;
	*id = captures->next_id++;
	return 0;
}

void captures_end(struct captures *captures, uint64_t id)
{
	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (id != 0 && captures->all[i].id == id)
			kill_child(&captures->all[i], -ECANCELED);
}

void captures_stats(const struct captures *captures, struct capture_stats *out)
{
	*out = captures->stats;
}

int captures_fd(const struct captures *captures)
{
	return captures->epoll_fd;
}

int captures_new(const struct capture_limits *limits, capture_done_fn done, void *ctx,
	struct captures **out, struct why *why)
{
	struct captures *captures = calloc(1, sizeof(*captures));

	assert(limits->at_once > 0 && limits->at_once <= CAPTURE_AT_ONCE_MAX);
	assert(limits->a_minute > 0 && limits->a_minute <= CAPTURE_A_MINUTE_MAX);
	if (!captures)
		return why_set(why, -ENOMEM, "out of memory");
	*captures = (struct captures){ .limits = *limits, .done = done, .ctx = ctx, .next_id = 1 };
	captures->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (captures->epoll_fd < 0) {
		free(captures);
		return why_set(why, -errno, "cannot wait for captures: %s", err_text(errno));
	}
	*out = captures;
	return 0;
}

void captures_free(struct captures *captures)
{
	int status;

	if (!captures)
		return;
	for (size_t i = 0; i < captures->limits.at_once; i++) {
		if (captures->all[i].id == 0)
			continue;
		kill_child(&captures->all[i], -ECANCELED);
		reap(captures, &captures->all[i], 0, &status);
		close_files(&captures->all[i]);
	}
	fd_close(&captures->epoll_fd);
	free(captures);
}
