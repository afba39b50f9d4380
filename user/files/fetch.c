/* SPDX-License-Identifier: Apache-2.0 */
/* files/fetch.c - one order at a time, so a late answer delays only the orders after it, and a
 * process for each: with its end nobody can write the file any more, so its size is what we see. A
 * file is made here, without a name in /var/tmp, because it may be large. After a process that lied
 * or ended by itself there is no other: the account says so. */
#include "files/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "client/starter.h"

#define AGAIN_NS (20 * NSEC_PER_MSEC) /* to the next try where a file cannot be sent */
#define END_MS 100
#define FAILURES_MAX 2 /* in a row: then a server is not used again */
#define BLOCK_BYTES 512 /* of st_blocks */
#define BLOCK_SLACK (1UL << 20) /* what a file system needs for a file, besides its bytes */

struct server {
	char url[FETCH_URL_MAX];
	unsigned int failures; /* in a row, of the server and not of the file */
};

struct fetch {
	fetch_fn fn;
	void *ctx;
	struct starter *starter; /* borrowed */
	struct child child;      /* for queue[next - 1], or while busy is false for the next */
	int epoll_fd;
	struct server servers[FETCH_SERVERS_MAX];
	size_t servers_len;
	VEC(struct fetch_order) queue; /* from `next` on: not sent */
	size_t next;
	bool busy, lost; /* lost: there is no other process */
	bool answered;   /* the order, by `answer`; the process is being ended */
	struct fetch_answer answer;
	int file;        /* what it writes to */
	uint64_t due_ns; /* of the next look at it, or the next try to send a file */
	struct fetch_stats stats;
};

DEFINE_CLEANUP(struct fetch, fetch_free)

/* ---- open ----------------------------------------------------------------------------------- */

static bool is_url(const char *text, size_t len)
{
	if (len >= FETCH_URL_MAX - 64 - 2 * BUILD_ID_BYTES_MAX)
		return false;
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

static void split_urls(struct fetch *fetch, const char *urls)
{
	while (*urls) {
		size_t len = strcspn(urls, " \t\n"), trimmed = len;

		while (trimmed > 0 && urls[trimmed - 1] == '/')
			trimmed--;
		if (fetch->servers_len < FETCH_SERVERS_MAX && is_url(urls, trimmed))
			snprintf(fetch->servers[fetch->servers_len++].url, FETCH_URL_MAX, "%.*s",
				(int)trimmed, urls);
		urls += len + (urls[len] != '\0');
	}
}

int fetch_open(const char *urls, struct starter *starter, struct fetch **out, struct why *why)
{
	_cleanup_(fetch_freep) struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch)
		return why_set(why, -ENOMEM, "out of memory");
	fetch->starter = starter;
	fetch->child = (struct child)CHILD_INIT;
	fetch->file = -1;
	fetch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	split_urls(fetch, urls);
	if (fetch->servers_len == 0)
		return why_set(why, -EINVAL, "debuginfod: no http:// or https:// URL in %s", urls);
	if (fetch->epoll_fd < 0)
		return why_set(why, -errno, "debuginfod: %s", err_text(errno));
	*out = TAKE_PTR(fetch);
	return 0;
}

/* False: not yet. It may wait for a CPU, or be in a call that does not return. */
static bool has_ended(struct fetch *fetch, int wait_ms)
{
	if (fetch->child.pid > 0)
		starter_kill(fetch->starter, fetch->child.pid);
	fd_close(&fetch->child.fd);
	return child_wait(&fetch->child, wait_ms, NULL) != -EAGAIN;
}

static void end_process(struct fetch *fetch)
{
	has_ended(fetch, END_MS);
	child_leave(&fetch->child);
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	end_process(fetch);
	fd_close(&fetch->file);
	fd_close(&fetch->epoll_fd);
	vec_done(&fetch->queue);
	free(fetch);
}

void fetch_listen(struct fetch *fetch, fetch_fn fn, void *ctx)
{
	fetch->fn = fn;
	fetch->ctx = ctx;
}

int fetch_fd(const struct fetch *fetch)
{
	return fetch->epoll_fd;
}

/* ---- talk ----------------------------------------------------------------------------------- */

static void conclude(struct fetch *fetch, const struct fetch_order *order, int fd,
	enum fetch_reason reason, uint32_t server)
{
	char url[FETCH_URL_MAX];

	if (server >= fetch->servers_len)
		server = 0;
	snprintf(url, sizeof(url), "%s/buildid/%.*s/debuginfo", fetch->servers[server].url,
		2 * BUILD_ID_BYTES_MAX, order->text);
	if (fd >= 0)
		fetch->stats.fetched++;
	else
		fetch->stats.failed[reason]++;
	fetch->fn(fetch->ctx, order->id, fd, reason, url);
}

/* Each order without an answer ends for this reason. */
static void give_up(struct fetch *fetch, enum fetch_reason reason)
{
	size_t first = fetch->next - fetch->busy;

	fetch->busy = false;
	fetch->next = fetch->queue.len;
	for (size_t i = first; i < fetch->queue.len; i++)
		conclude(fetch, &fetch->queue.data[i], -1, reason, 0);
}

static void lose(struct fetch *fetch, enum fetch_reason reason)
{
	fetch->lost = true;
	end_process(fetch);
	fd_close(&fetch->file);
	give_up(fetch, reason);
}

static int make_file(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : fd_memory("debuginfo");
}

/* A server that is given up keeps its number, and has no URL. */
static int start(struct fetch *fetch)
{
	int err = starter_start(fetch->starter, FETCH_ARGUMENT, &fetch->child);

	if (err == 0)
		err = fd_watch(fetch->epoll_fd, fetch->child.fd);
	for (size_t i = 0; i < fetch->servers_len && err == 0; i++) {
		struct fetch_order order = { .id = i, .kind = FETCH_SERVER };

		if (fetch->servers[i].failures < FAILURES_MAX)
			memcpy(order.text, fetch->servers[i].url, FETCH_URL_MAX);
		err = fd_pass(fetch->child.fd, &order, sizeof(order), -1);
	}
	return err;
}

static int send_order(struct fetch *fetch, const struct fetch_order *order)
{
	const struct fetch_order into = { .kind = FETCH_INTO };
	int err;

	fd_close(&fetch->file);
	fetch->file = make_file();
	err = fetch->file < 0 ? fetch->file
			      : fd_pass(fetch->child.fd, &into, sizeof(into), fetch->file);
	return err < 0 ? err : fd_pass(fetch->child.fd, order, sizeof(*order), -1);
}

/* Repeated where a file cannot be sent now. */
static void send_next(struct fetch *fetch)
{
	int err;

	if (fetch->lost || fetch->busy || fetch->next == fetch->queue.len)
		return;
	err = fetch->child.pid > 0 ? 0 : start(fetch);
	if (err == 0)
		err = send_order(fetch, &fetch->queue.data[fetch->next]);
	fetch->due_ns = clock_ns(CLOCK_MONOTONIC) +
		(err == -ETOOMANYREFS ? AGAIN_NS : STARTER_WAKE_NS);
	if (err < 0 && err != -ETOOMANYREFS)
		lose(fetch, FETCH_LOST);
	if (err < 0)
		return;
	fetch->next++;
	fetch->busy = true;
}

int fetch_ask(struct fetch *fetch, uint64_t id, const struct build_id *build_id)
{
	struct fetch_order order = { .id = id, .kind = FETCH_FILE }, *slot;

	build_id_hex(build_id, order.text);
	fetch->stats.asked++;
	if (fetch->lost || fetch->queue.len >= FETCH_FILES_MAX ||
		fetch->stats.bytes >= FETCH_BYTES_MAX) {
		fetch->stats.failed[fetch->lost ? FETCH_LOST : FETCH_LIMIT]++;
		return 0;
	}
	slot = vec_add(&fetch->queue);
	if (!slot)
		return -ENOMEM;
	*slot = order;
	send_next(fetch);
	return 0;
}

/* Does it answer the order, with no more bytes than the limits allow? More would wrap the sum that
 * limits a capture. */
static bool is_answer(const struct fetch *fetch, const struct fetch_answer *answer)
{
	return answer->id == fetch->queue.data[fetch->next - 1].id &&
		answer->bytes <= fetch->servers_len * FETCH_FILE_BYTES_MAX &&
		answer->reason < FETCH_REASONS_LEN;
}

/* 0; -EAGAIN: there is no answer yet; -EPIPE: the process is gone or sent no valid answer. */
static int receive(struct fetch *fetch, struct fetch_answer *answer)
{
	int err = fd_take(fetch->child.fd, MSG_DONTWAIT, answer, sizeof(*answer), NULL);

	if (err < 0)
		return err;
	return is_answer(fetch, answer) ? 0 : -EPIPE;
}

/* The disk says so, whatever the process does. */
static bool is_too_large(const struct fetch *fetch, uint64_t *bytes)
{
	struct stat st;

	if (fstat(fetch->file, &st) < 0)
		return true;
	*bytes = (uint64_t)st.st_blocks * BLOCK_BYTES;
	return *bytes > FETCH_FILE_BYTES_MAX + BLOCK_SLACK ||
		(uint64_t)st.st_size > FETCH_FILE_BYTES_MAX;
}

/* The process has not answered yet. */
static void watch(struct fetch *fetch)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), bytes;

	if (now < fetch->due_ns)
		return;
	fetch->due_ns = now + STARTER_WAKE_NS;
	starter_wake(fetch->starter, &fetch->child);
	if (is_too_large(fetch, &bytes))
		lose(fetch, FETCH_LOST);
}

/* All were asked up to the one that had the file. */
static void judge_servers(struct fetch *fetch, const struct fetch_answer *answer)
{
	for (size_t i = 0; i < fetch->servers_len; i++) {
		if (answer->failed >> i & 1)
			fetch->servers[i].failures++;
		else if (answer->reason != FETCH_DONE || i <= answer->server)
			fetch->servers[i].failures = 0;
	}
}

/* -EAGAIN: the process that answered has not ended yet. */
static int take_answer(struct fetch *fetch)
{
	const struct fetch_answer *answer = &fetch->answer;
	bool ended = has_ended(fetch, fetch->answered ? 0 : END_MS);
	uint64_t written;

	fetch->answered = !ended;
	if (!ended)
		return -EAGAIN;
	if (is_too_large(fetch, &written)) {
		lose(fetch, FETCH_LOST);
		return 0;
	}
	fetch->busy = false;
	fetch->stats.bytes += answer->bytes > written ? answer->bytes : written;
	judge_servers(fetch, answer);
	conclude(fetch, &fetch->queue.data[fetch->next - 1],
		answer->reason == FETCH_DONE ? TAKE_FD(fetch->file) : -1,
		(enum fetch_reason)answer->reason, answer->server);
	fd_close(&fetch->file);
	if (fetch->stats.bytes >= FETCH_BYTES_MAX)
		give_up(fetch, FETCH_LIMIT);
	return 0;
}

void fetch_poll(struct fetch *fetch)
{
	int err = 0;

	if (!fetch)
		return;
	while (err == 0) {
		send_next(fetch);
		if (!fetch->busy)
			err = -EAGAIN;
		else if (!fetch->answered)
			err = receive(fetch, &fetch->answer);
		if (err == 0)
			err = take_answer(fetch);
	}
	if (err != -EAGAIN)
		lose(fetch, FETCH_LOST);
	else if (fetch->busy)
		watch(fetch);
}

uint64_t fetch_due_ns(const struct fetch *fetch)
{
	bool waits = fetch && !fetch->lost && (fetch->busy || fetch->next < fetch->queue.len);

	return waits ? fetch->due_ns : CLOCK_NEVER_NS;
}

void fetch_await(struct fetch *fetch, uint64_t until_ns)
{
	for (;;) {
		struct pollfd ready = { .fd = fetch->epoll_fd, .events = POLLIN };
		uint64_t now, due_ns;

		fetch_poll(fetch);
		now = clock_ns(CLOCK_MONOTONIC);
		due_ns = clock_sooner(fetch_due_ns(fetch), until_ns);
		if (fetch_due_ns(fetch) == CLOCK_NEVER_NS)
			return;
		if (now >= until_ns)
			break;
		poll(&ready, 1, now < due_ns ? clock_wait_ms(now, due_ns) : 0);
	}
	/* Its answer, should it come, would be to another question. */
	lose(fetch, FETCH_TIMEOUT);
}

void fetch_stats(const struct fetch *fetch, struct fetch_stats *out)
{
	*out = fetch->stats;
}
