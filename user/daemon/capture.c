/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/capture.c - a capture has two files in memory: stdout for its profile, stderr for its
 * messages. It is a child of this process that its starter started. It executes this program again
 * and shares nothing with the daemon but its capabilities, which it inherits as ambient ones, in
 * case we are not root. It ends when the daemon ends, for any reason. */
#include "daemon/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "daemon/stops.h"
#include "http/proto.h"
#include "profile/kinds.h"
#include "wire/exit_status.h"

#define END_MS 2000
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define MESSAGES_BYTES_MAX 4096
#define PREFIX "stoker: "
#define CLOCKS_ENV "STOKER_CLOCKS"
#define CLOCKS_FD 3
#define CLOCKS_TEXT "3"
#define PROGRAM_FD 4
#define MAPS_FD 5

struct capture {
	uint64_t id; /* 0: a free place */
	struct child child;
	int out, messages; /* the child's stdout and stderr */
	uint64_t ends_ns;  /* CLOCK_MONOTONIC: when it is expected to end */
	size_t start;      /* index in starts */
	int err;           /* why it was killed */
};

struct captures {
	struct capture_limits limits;
	struct starter *starter;
	capture_done_fn done;
	void *ctx;
	int epoll_fd;
	struct stops stops;
	struct capture all[CAPTURE_AT_ONCE_MAX];
	/* When those of the last minute began, in no order; 0 or older: free. A capture without a
	 * target costs the search alone: it has a limit of its own. */
	uint64_t starts[CAPTURE_A_MINUTE_MAX], misses[CAPTURE_A_MINUTE_MAX];
	uint64_t next_id;
	bool said; /* the warning of their user */
	struct capture_stats stats;
};

/* ---- a child -------------------------------------------------------------------------------- */

bool capture_is_this(void)
{
	return secure_getenv(CLOCKS_ENV) != NULL;
}

int capture_clocks_fd(void)
{
	const char *text = secure_getenv(CLOCKS_ENV);
	bool given = text && strcmp(text, CLOCKS_TEXT) == 0;

	unsetenv(CLOCKS_ENV);
	return given && fcntl(CLOCKS_FD, F_SETFD, FD_CLOEXEC) == 0 ? CLOCKS_FD : 0;
}

int capture_maps_fd(void)
{
	return fcntl(MAPS_FD, F_SETFD, FD_CLOEXEC) == 0 ? MAPS_FD : -1;
}

int capture_exec(const char *const *words, bool clocks)
{
	const struct rlimit bytes = { CAPTURE_BYTES_MAX, CAPTURE_BYTES_MAX };
	const char *argv[CAPTURE_WORDS_MAX + 3] = { "stoker-capture", "record" };
	int err = setenv(CLOCKS_ENV, clocks ? CLOCKS_TEXT : "none", 1) < 0 ? -errno : 0;

	for (size_t i = 0; i < CAPTURE_WORDS_MAX && words[i]; i++)
		argv[i + 2] = words[i];
	if (err == 0 && caps_hand_on() == 0 && setrlimit(RLIMIT_FSIZE, &bytes) == 0 &&
		fcntl(PROGRAM_FD, F_SETFD, FD_CLOEXEC) == 0)
		syscall(SYS_execveat, PROGRAM_FD, "", argv, environ, AT_EMPTY_PATH);
	return CHILD_EXIT;
}

int capture_become(const void *wanted, uint64_t tick_limit_us, const char *tables, bool maps,
	bool clocks)
{
	static const char *const options[HTTP_TARGETS] = { "--all", "--container", "--pod",
		"--unit", "--cgroup" };
	struct http_message m = *(const struct http_message *)wanted;
	char hz[16], seconds[16], limit[24];
	const char *words[] = { "-q", "-F", hz, "-d", seconds, "--tick-limit", limit, "--tables",
		tables, "-f", NULL, NULL, NULL, NULL, NULL, NULL, NULL };
	size_t len = 12;

	m.text[HTTP_TEXT_MAX - 1] = '\0';
	m.event[HTTP_EVENT_MAX - 1] = '\0';
	if (!http_capture_is_valid(&m))
		return CHILD_EXIT;
	words[10] = http_formats[m.format].name;
	words[11] = options[m.target];
	if (m.target != HTTP_ALL)
		words[len++] = m.text;
	if (maps && m.jit)
		words[len++] = "--jit";
	if (m.event[0] && strcmp(m.event, PROFILE_CPU) != 0) {
		words[len++] = "-e";
		words[len++] = m.event;
	}
	snprintf(hz, sizeof(hz), "%u", m.hz);
	snprintf(seconds, sizeof(seconds), "%u", m.seconds);
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)tick_limit_us);
	return capture_exec(words, clocks);
}

static void close_files(struct capture *c)
{
	fd_close(&c->out);
	fd_close(&c->messages);
}

static int start_child(
	struct capture *c, struct starter *starter, const struct capture_order *order)
{
	int err;

	c->out = fd_memory("capture");
	err = c->out < 0 ? c->out
			 : starter_capture(starter, order->wanted, order->size, order->maps, c->out,
				   &c->child, &c->messages);
	return err;
}

static void kill_child(struct starter *starter, struct capture *c, int err)
{
	if (c->err == 0)
		c->err = err;
	if (c->child.pid > 0)
		starter_kill(starter, c->child.pid);
}

/* The last line of its messages, without our prefix. */
static void read_last_line(const struct capture *c, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *line;
	off_t end = lseek(c->messages, 0, SEEK_END);

	lseek(c->messages, end > MESSAGES_BYTES_MAX ? end - MESSAGES_BYTES_MAX : 0, SEEK_SET);
	if (fd_read_all(c->messages, MESSAGES_BYTES_MAX, &text) < 0 || text.len == 0) {
		why_set(why, 0, "it gave no reason");
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

static int outcome_of(int status)
{
	switch (WIFEXITED(status) ? (enum exit_status)WEXITSTATUS(status) : EXIT_FAILED) {
	case EXIT_OK:
		return 0;
	case EXIT_NOT_FOUND:
		return -ENOENT;
	case EXIT_AMBIGUOUS:
	case EXIT_USAGE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

/* ---- the pool ------------------------------------------------------------------------------- */

/* A free place; len: none, and *free_ns is when there will be one. */
static size_t find_place(const uint64_t *times, size_t len, uint64_t now, uint64_t *free_ns)
{
	*free_ns = CLOCK_NEVER_NS;
	for (size_t i = 0; i < len; i++) {
		if (times[i] == 0 || now >= times[i] + MINUTE_NS)
			return i;
		*free_ns = clock_sooner(*free_ns, times[i] + MINUTE_NS);
	}
	return len;
}

/* Nothing was sampled. */
static void note_miss(struct captures *captures, const struct capture *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), free_ns;
	size_t place = find_place(captures->misses, CAPTURE_A_MINUTE_MAX, now, &free_ns);

	captures->stats.not_found++;
	captures->starts[c->start] = 0;
	if (place < CAPTURE_A_MINUTE_MAX)
		captures->misses[place] = now;
}

/* waited: of child_wait; if negative, *end is all 0. */
static void finish(
	struct captures *captures, struct capture *c, int waited, const struct child_end *end)
{
	struct capture_result result = { .id = c->id, .err = c->err, .fd = -1 };
	int status = end->status;

	captures->stats.cpu_ns += end->cpu_ns;
	if (result.err == 0)
		result.err = waited < 0 ? -EIO : outcome_of(status);
	read_last_line(c, &result.why);
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
	else if (result.err == -ENOENT || result.err == -EINVAL)
		note_miss(captures, c);
	else
		captures->stats.failed++;
	captures->done(captures->ctx, &result);
	fd_close(&result.fd);
}

bool captures_poll(struct captures *captures)
{
	bool heard = stops_heard(&captures->stops);

	for (size_t i = 0; i < captures->limits.at_once; i++) {
		struct capture *c = &captures->all[i];
		struct child_end end;
		int waited = c->id > 0 ? child_wait(&c->child, 0, &end) : -EAGAIN;

		if (waited != -EAGAIN)
			finish(captures, c, waited, &end);
		else if (c->id > 0 && c->err == 0 && clock_ns(CLOCK_MONOTONIC) >= c->ends_ns)
			kill_child(captures->starter, c, -ETIMEDOUT);
		else if (c->id > 0 && heard)
			starter_wake(captures->starter, &c->child);
	}
	return heard;
}

uint64_t captures_due_ns(const struct captures *captures)
{
	uint64_t due_ns = stops_due_ns(&captures->stops);

	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (captures->all[i].id > 0 && captures->all[i].err == 0)
			due_ns = clock_sooner(due_ns, captures->all[i].ends_ns);
	return due_ns;
}

static struct capture *find_room(struct captures *captures)
{
	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (captures->all[i].id == 0)
			return &captures->all[i];
	return NULL;
}

/* How long until the next capture is expected to end; at least a second, as that is a guess. */
static uint64_t next_end(const struct captures *captures, uint64_t now)
{
	uint64_t soonest = now + MINUTE_NS;

	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (captures->all[i].id > 0 && captures->all[i].ends_ns < soonest)
			soonest = captures->all[i].ends_ns;
	return soonest > now + NSEC_PER_SEC ? soonest - now : NSEC_PER_SEC;
}

/* *start: a free place in starts. */
static int check_limits(const struct captures *captures, uint64_t now, size_t *start,
	uint64_t *retry_ns, struct why *why)
{
	uint64_t start_ns, miss_ns;

	if (captures->stats.running == captures->limits.at_once) {
		*retry_ns = next_end(captures, now);
		return why_set(why, -EBUSY, "%zu captures run already, which is the limit",
			captures->limits.at_once);
	}
	*start = find_place(captures->starts, captures->limits.a_minute, now, &start_ns);
	if (*start == captures->limits.a_minute) {
		*retry_ns = start_ns - now;
		return why_set(why, -EAGAIN,
			"%zu captures were started in the last minute, which is the limit",
			captures->limits.a_minute);
	}
	if (find_place(captures->misses, CAPTURE_A_MINUTE_MAX, now, &miss_ns) ==
		CAPTURE_A_MINUTE_MAX) {
		*retry_ns = miss_ns - now;
		return why_set(why, -EAGAIN,
			"%d captures of the last minute found no target, which is the limit",
			CAPTURE_A_MINUTE_MAX);
	}
	return 0;
}

int captures_start(struct captures *captures, const struct capture_order *order, uint64_t *id,
	uint64_t *retry_ns, struct why *why)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct capture *c = find_room(captures);
	struct capture started = { .child = CHILD_INIT, .out = -1, .messages = -1 };
	int err = check_limits(captures, now, &started.start, retry_ns, why);

	if (err < 0) {
		captures->stats.refused++;
		return err;
	}
	assert(c);
	started.id = captures->next_id;
	started.ends_ns = now + order->most_ns;
	err = start_child(&started, captures->starter, order);
	if (err == 0 &&
		epoll_ctl(captures->epoll_fd, EPOLL_CTL_ADD, started.child.pidfd, &event) < 0)
		err = -errno;
	if (err < 0) {
		kill_child(captures->starter, &started, err);
		child_leave(&started.child);
		close_files(&started);
		captures->stats.failed++;
		return why_set(why, err, "cannot start a capture: %s", err_text(err));
	}
	*c = started;
	captures->starts[started.start] = now;
	captures->stats.started++;
	captures->stats.running++;
	if (captures->starter->refused[0] && captures->limits.log && !captures->said) {
		log_warn(captures->limits.log, "captures have the user of this process: %s",
			captures->starter->refused);
		captures->said = true;
	}
	*id = captures->next_id++;
	return 0;
}

void captures_end(struct captures *captures, uint64_t id)
{
	for (size_t i = 0; i < captures->limits.at_once; i++)
		if (id != 0 && captures->all[i].id == id)
			kill_child(captures->starter, &captures->all[i], -ECANCELED);
}

void captures_stats(const struct captures *captures, struct capture_stats *out)
{
	*out = captures->stats;
}

int captures_fd(const struct captures *captures)
{
	return captures->epoll_fd;
}

int captures_new(const struct capture_limits *limits, struct starter *starter, capture_done_fn done,
	void *ctx, struct captures **out, struct why *why)
{
	struct captures *captures = calloc(1, sizeof(*captures));
	int err;

	assert(limits->at_once > 0 && limits->at_once <= CAPTURE_AT_ONCE_MAX);
	assert(limits->a_minute > 0 && limits->a_minute <= CAPTURE_A_MINUTE_MAX);
	if (!captures)
		return why_set(why, -ENOMEM, "out of memory");
	*captures = (struct captures){
		.limits = *limits, .starter = starter, .done = done, .ctx = ctx, .next_id = 1
	};
	captures->stops.fd = -1;
	captures->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = captures->epoll_fd < 0 ? -errno
				     : stops_open(&captures->stops, captures->epoll_fd);
	if (err < 0) {
		captures_free(captures);
		return why_set(why, err, "cannot wait for captures: %s", fd_watch_text(err));
	}
	*out = captures;
	return 0;
}

void captures_free(struct captures *captures)
{
	if (!captures)
		return;
	for (size_t i = 0; i < captures->limits.at_once; i++) {
		if (captures->all[i].id == 0)
			continue;
		kill_child(captures->starter, &captures->all[i], -ECANCELED);
		/* Only the starter can kill another user's process; without it, it ends with us. */
		if (child_wait(&captures->all[i].child, END_MS, NULL) == -EAGAIN)
			child_leave(&captures->all[i].child);
		close_files(&captures->all[i]);
	}
	stops_close(&captures->stops);
	fd_close(&captures->epoll_fd);
	free(captures);
}
