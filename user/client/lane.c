/* SPDX-License-Identifier: Apache-2.0 */
/* client/lane.c - watches and ends one worker; starter.c starts it.
 * Ending a worker must not block: it may hang in the kernel, on a file system that does not answer.
 * It is then left dying, and reaped when another is started. */
#include "client/lane.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "worker/worker.h"

#define END_MS 100 /* for a worker whose socket is closed to be gone */
#define STATUS_BYTES_MAX 65536
#define MOMENT_NS (1100 * NSEC_PER_MSEC)
/* Where no descriptor can be sent: to the next try; and how long all of them are waited for. */
#define UNSENT_NS (20 * NSEC_PER_MSEC)
#define UNSENT_MAX_NS (500 * NSEC_PER_MSEC)
#define AGAIN_NS (200 * NSEC_PER_MSEC) /* from a failed start to the next */

void lane_init(struct lane *lane, struct starter *starter, const char *argument, uint64_t hang_ns)
{
	*lane = (struct lane){
		.starter = starter, .argument = argument, .hang_ns = hang_ns, .child = CHILD_INIT
	};
}

/* ---- end ------------------------------------------------------------------------------------ */

/* 0, -EAGAIN or -ECHILD, as child_wait. */
static int reap(struct lane *lane, struct child *child, int wait_ms)
{
	struct child_end end;
	int err = child_wait(child, wait_ms, &end);

	if (err == 0) {
		lane->cpu_s += (double)end.cpu_ns / 1e9;
		lane->end_status = end.status;
		lane->grown = end.rss_max_kb >= LANE_GROWN_KB;
	}
	return err;
}

/* False: LANE_DYING_MAX have not ended yet. */
static bool reap_dying(struct lane *lane)
{
	bool room = false;

	for (size_t i = 0; i < LANE_DYING_MAX; i++)
		if (lane->dying[i].pid == 0 || reap(lane, &lane->dying[i], 0) != -EAGAIN)
			room = true;
	return room;
}

static void end_process(struct lane *lane, enum lane_cause *cause)
{
	struct child child = lane->child;
	pid_t pid = child.pid;

	fd_close(&child.fd);
	lane->child = (struct child)CHILD_INIT;
	if (*cause == LANE_ENDED && reap(lane, &child, END_MS) == 0) {
		if (WIFSIGNALED(lane->end_status) && WTERMSIG(lane->end_status) == SIGKILL)
			*cause = LANE_KILLED;
		else
			lane->died_status = lane->end_status;
		return;
	}
	starter_kill(lane->starter, pid);
	if (reap(lane, &child, END_MS) != -EAGAIN)
		return;
	for (size_t i = 0; i < LANE_DYING_MAX; i++) {
		if (lane->dying[i].pid == 0) {
			lane->dying[i] = child;
			return;
		}
	}
}

/* After a SIGKILL from outside the wait is short: the cause is not the worker's. */
static uint64_t delay_ns(unsigned int losses, enum lane_cause cause)
{
	uint64_t max = cause == LANE_KILLED ? LANE_DELAY_KILLED_NS : LANE_DELAY_MAX_NS;
	uint64_t delay = LANE_DELAY_FIRST_NS;

	if (losses < 2)
		return 0;
	while (losses-- > 2 && delay < max)
		delay *= 2;
	return delay < max ? delay : max;
}

static void lose(struct lane *lane, enum lane_cause cause)
{
	uint64_t now;

	if (lane->child.pid == 0)
		return;
	end_process(lane, &cause);
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - lane->started_ns >= LANE_STEADY_NS || cause == LANE_DROPPED)
		lane->losses_in_row = 0;
	lane->losses_in_row++;
	lane->not_before_ns = now + delay_ns(lane->losses_in_row, cause);
	lane->cause = cause;
	lane->lost[cause]++;
	lane->replaces = true;
	lane->ahead_len = 0;
	proto_close_fds(&lane->in);
}

void lane_drop(struct lane *lane)
{
	lose(lane, LANE_DROPPED);
	lane->busy = false;
}

void lane_accuse(struct lane *lane, const char *fault)
{
	lane->fault = fault;
	lose(lane, LANE_BAD_REPLY);
	lane->busy = true;
}

void lane_rest(struct lane *lane)
{
	enum lane_cause cause = LANE_DROPPED;

	if (lane->child.pid == 0)
		return;
	end_process(lane, &cause);
	proto_close_fds(&lane->in);
}

void lane_done(struct lane *lane)
{
	lane_drop(lane);
	reap_dying(lane);
}

/* ---- talk ----------------------------------------------------------------------------------- */

static void begin_turn(struct lane *lane, const struct proto_request *request)
{
	lane->asked = *request;
	lane->asked_ns = clock_ns(CLOCK_MONOTONIC);
	lane->wake_ns = lane->asked_ns + STARTER_WAKE_NS;
	lane->busy = true;
	lane->stopped = false;
}

int lane_start(struct lane *lane)
{
	const struct proto_request hello = { .head = { .kind = PROTO_HELLO } };
	uint64_t now;
	int err;

	if (lane->child.pid != 0)
		return 0;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now < lane->not_before_ns)
		return -EAGAIN;
	err = reap_dying(lane) ? starter_start(lane->starter, lane->argument, &lane->child)
			       : -EAGAIN;
	if (err < 0) {
		lane->failed_ns = now;
		return err;
	}
	lane->starts++;
	lane->restarts += lane->replaces;
	lane->replaces = false;
	lane->started_ns = now;
	lane->written_bytes = 0;
	lane->seq = 0;
	begin_turn(lane, &hello);
	return 0;
}

static void note_sent(struct lane *lane, int err)
{
	if (lane->out.fds_len > 0 && err == 0)
		lane->unsent_ns = 0;
	if (err != -ETOOMANYREFS)
		return;
	if (lane->unsent_ns == 0)
		lane->unsent_ns = clock_ns(CLOCK_MONOTONIC);
	lane->starter->unsent++;
}

int lane_send(struct lane *lane)
{
	struct proto_head *head = &lane->out.head;
	int err;

	head->seq = ++lane->seq;
	err = proto_send(lane->child.fd, MSG_DONTWAIT, &lane->out);
	/* It answered all requests before this one, and cannot have read them. */
	if (err == -EAGAIN) {
		lane->fault = "replies to requests that it has not read";
		lose(lane, LANE_BAD_REPLY);
		return -ENOTCONN;
	}
	if (err == -EPIPE || err == -ECONNRESET) {
		lose(lane, LANE_ENDED);
		return -ENOTCONN;
	}
	note_sent(lane, err);
	if (err < 0)
		return err;
	if (lane->busy || lane->ahead_len > 0)
		lane->ahead[lane->ahead_len++] = lane->out.request;
	else
		begin_turn(lane, &lane->out.request);
	return 0;
}

/* The reply before it was read. */
static void advance(struct lane *lane)
{
	if (lane->busy || lane->ahead_len == 0)
		return;
	begin_turn(lane, &lane->ahead[0]);
	memmove(&lane->ahead[0], &lane->ahead[1], --lane->ahead_len * sizeof(lane->ahead[0]));
}

/* Is there a message now, or until then? */
static bool await(int fd, uint64_t until_ns)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	uint64_t now = until_ns ? clock_ns(CLOCK_MONOTONIC) : 0;
	uint64_t left = until_ns > now ? until_ns - now : 0;
	uint64_t left_ms = (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;

	return poll(&ready, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) == 1;
}

static enum lane_result lost(struct lane *lane, enum lane_cause cause)
{
	lose(lane, cause);
	return LANE_LOST;
}

static enum lane_result refuse_reply(struct lane *lane, const char *fault)
{
	lane->fault = fault;
	return lost(lane, LANE_BAD_REPLY);
}

/* To start takes its time on a busy machine, however small the work is. */
static uint64_t hang_ns(const struct lane *lane)
{
	bool begins = lane->asked.head.kind == PROTO_HELLO;

	return begins && lane->hang_ns < LANE_BEGIN_NS ? LANE_BEGIN_NS : lane->hang_ns;
}

/* The worker has not answered yet. */
static void wake(struct lane *lane, uint64_t now)
{
	if (!lane->busy || now < lane->wake_ns)
		return;
	lane->stopped |= starter_wake(lane->starter, &lane->child);
	lane->wake_ns = now + STARTER_WAKE_NS;
}

enum lane_result lane_wait(struct lane *lane, uint64_t until_ns)
{
	uint64_t hung_ns, end_ns;
	const char *fault;
	int err;

	if (lane->child.pid == 0)
		return LANE_LOST;
	advance(lane);
	hung_ns = lane->asked_ns + hang_ns(lane);
	end_ns = lane->busy && hung_ns < until_ns ? hung_ns : until_ns;
	while (!await(lane->child.fd,
		lane->busy ? clock_sooner(end_ns, lane->wake_ns) : end_ns)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		wake(lane, now);
		if (lane->busy && now >= hung_ns)
			return lost(lane, lane->stopped ? LANE_DROPPED : LANE_HUNG);
		if (now >= until_ns)
			return LANE_LATE;
	}
	err = proto_receive_reply(lane->child.fd, MSG_DONTWAIT, &lane->in);
	if (err == -EAGAIN)
		return LANE_LATE;
	if (err == -EBADMSG)
		return refuse_reply(lane, "a cut message");
	if (err < 0)
		return lost(lane, LANE_ENDED);
	fault = lane->busy ? proto_reply_fault(&lane->in, &lane->asked)
			   : "a reply without a request";
	if (fault)
		return refuse_reply(lane, fault);
	lane->busy = false;
	return LANE_REPLY;
}

/* Waits until `at`, if that is a moment only. False: it is not. */
static bool wait_for(uint64_t at, uint64_t until_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct timespec pause;

	if (at <= now || at - now > MOMENT_NS || at > until_ns)
		return false;
	pause = (struct timespec){
		.tv_sec = (time_t)((at - now) / NSEC_PER_SEC),
		.tv_nsec = (long)((at - now) % NSEC_PER_SEC),
	};
	nanosleep(&pause, NULL);
	return true;
}

bool lane_wait_for_start(const struct lane *lane, uint64_t until_ns)
{
	return wait_for(lane->not_before_ns, until_ns);
}

bool lane_wait_to_send(const struct lane *lane, uint64_t until_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return now - lane->unsent_ns < UNSENT_MAX_NS && wait_for(now + UNSENT_NS, until_ns);
}

uint64_t lane_due_ns(const struct lane *lane)
{
	uint64_t again_ns = lane->failed_ns ? lane->failed_ns + AGAIN_NS : 0;

	if (lane->child.pid == 0)
		return again_ns > lane->not_before_ns ? again_ns : lane->not_before_ns;
	return lane->busy ? clock_sooner(lane->asked_ns + hang_ns(lane), lane->wake_ns)
			  : CLOCK_NEVER_NS;
}

/* ---- cost ----------------------------------------------------------------------------------- */

uint64_t lane_worker_ns(const struct lane *lane)
{
	return clock_process_ns(lane->child.pid);
}

double lane_cpu_s(const struct lane *lane)
{
	return lane->cpu_s + (double)lane_worker_ns(lane) / 1e9;
}

static uint64_t kb_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void lane_memory(const struct lane *lane, uint64_t *rss_kb, uint64_t *rss_max_kb)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];

	*rss_kb = *rss_max_kb = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", lane->child.pid);
	if (lane->child.pid == 0 || fd_read_path(path, STATUS_BYTES_MAX, &text) < 0)
		return;
	*rss_kb = kb_of(text.data, "\nVmRSS:");
	*rss_max_kb = kb_of(text.data, "\nVmHWM:");
}
