/* SPDX-License-Identifier: Apache-2.0 */
/* client/fetch.c - the process has one order at a time, so a late answer delays only the orders
 * after it. A file is made here, without a name in /var/tmp, because it may be large. A process
 * that ends is not started again: no server gets a second chance, and the account says so. */
#include "client/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "client/starter.h"

#define AGAIN_MS 20 /* to the next try where a file cannot be sent */

struct fetch {
	fetch_fn fn;
	void *ctx;
	struct child child;
	char servers[FETCH_SERVERS_MAX][FETCH_URL_MAX];
	size_t servers_len;
	VEC(struct fetch_order) queue; /* from `next` on: not sent */
	size_t next;
	bool busy; /* the process has queue[next - 1] */
	int file;  /* what it writes that to */
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
			snprintf(fetch->servers[fetch->servers_len++], FETCH_URL_MAX, "%.*s",
				(int)trimmed, urls);
		urls += len + (urls[len] != '\0');
	}
}

/* A process that does not read is lost: nothing waits for it. */
static int send_servers(struct fetch *fetch)
{
	int err = 0;

	for (size_t i = 0; i < fetch->servers_len && err == 0; i++) {
		struct fetch_order order = { .id = i, .kind = FETCH_SERVER };

		memcpy(order.text, fetch->servers[i], FETCH_URL_MAX);
		err = fd_pass(fetch->child.fd, &order, sizeof(order), -1);
	}
	return err;
}

int fetch_open(const char *urls, struct fetch **out, struct why *why)
{
	_cleanup_(fetch_freep) struct fetch *fetch = calloc(1, sizeof(*fetch));
	struct starter direct = STARTER_INIT;
	int err;

	if (!fetch)
		return why_set(why, -ENOMEM, "out of memory");
	fetch->child = (struct child)CHILD_INIT;
	fetch->file = -1;
	split_urls(fetch, urls);
	if (fetch->servers_len == 0)
		return why_set(why, -EINVAL, "debuginfod: no http:// or https:// URL in %s", urls);
	err = starter_start(&direct, FETCH_ARGUMENT, &fetch->child);
	if (err == 0)
		err = send_servers(fetch);
	if (err < 0)
		return why_set(why, err, "debuginfod: %s", err_text(err));
	*out = TAKE_PTR(fetch);
	return 0;
}

/* The process ends when the socket closes, at the latest with us. */
void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	child_leave(&fetch->child);
	fd_close(&fetch->file);
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
	return fetch->child.fd;
}

/* ---- talk ----------------------------------------------------------------------------------- */

static void conclude(struct fetch *fetch, const struct fetch_order *order, int fd,
	enum fetch_reason reason, uint32_t server)
{
	char url[FETCH_URL_MAX];

	if (server >= fetch->servers_len)
		server = 0;
	snprintf(url, sizeof(url), "%s/buildid/%.*s/debuginfo", fetch->servers[server],
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

static void lose(struct fetch *fetch)
{
	fd_close(&fetch->child.fd);
	give_up(fetch, FETCH_LOST);
}

static int make_file(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : fd_memory("debuginfo");
}

/* Repeated by each poll where a file cannot be sent now. */
static void send_next(struct fetch *fetch)
{
	const struct fetch_order into = { .kind = FETCH_INTO };
	int fd = fetch->child.fd, err;

	if (fetch->child.fd < 0 || fetch->busy || fetch->next == fetch->queue.len)
		return;
	fd_close(&fetch->file);
	fetch->file = make_file();
	err = fetch->file < 0 ? fetch->file : fd_pass(fd, &into, sizeof(into), fetch->file);
	if (err == 0)
		err = fd_pass(fd, &fetch->queue.data[fetch->next], sizeof(into), -1);
	if (err == -ETOOMANYREFS)
		return;
	if (err < 0) {
		lose(fetch);
		return;
	}
	fetch->next++;
	fetch->busy = true;
}

int fetch_ask(struct fetch *fetch, uint64_t id, const struct build_id *build_id)
{
	struct fetch_order order = { .id = id, .kind = FETCH_FILE }, *slot;

	build_id_hex(build_id, order.text);
	fetch->stats.asked++;
	if (fetch->child.fd < 0 || fetch->queue.len >= FETCH_FILES_MAX ||
		fetch->stats.bytes >= FETCH_BYTES_MAX) {
		fetch->stats.failed[fetch->child.fd < 0 ? FETCH_LOST : FETCH_LIMIT]++;
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
	return fetch->busy && answer->id == fetch->queue.data[fetch->next - 1].id &&
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

void fetch_poll(struct fetch *fetch)
{
	while (fetch && fetch->child.fd >= 0) {
		struct fetch_answer answer = { 0 };
		int err = receive(fetch, &answer);

		if (err == -EAGAIN) {
			send_next(fetch);
			return;
		}
		if (err < 0) {
			lose(fetch);
			return;
		}
		fetch->busy = false;
		fetch->stats.bytes += answer.bytes;
		conclude(fetch, &fetch->queue.data[fetch->next - 1],
			answer.reason == FETCH_DONE ? TAKE_FD(fetch->file) : -1,
			(enum fetch_reason)answer.reason, answer.server);
		if (fetch->stats.bytes >= FETCH_BYTES_MAX)
			give_up(fetch, FETCH_LIMIT);
		send_next(fetch);
	}
}

void fetch_await(struct fetch *fetch, uint64_t until_ns)
{
	for (;;) {
		struct pollfd ready = { .fd = fetch->child.fd, .events = POLLIN };
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		fetch_poll(fetch);
		if (fetch->child.fd < 0 || fetch->next - fetch->busy == fetch->queue.len)
			return;
		if (now >= until_ns)
			break;
		poll(&ready, 1, fetch->busy ? clock_wait_ms(now, until_ns) : AGAIN_MS);
	}
	/* Its answer, should it come, would be to another question. */
	fd_close(&fetch->child.fd);
	give_up(fetch, FETCH_TIMEOUT);
}

void fetch_stats(const struct fetch *fetch, struct fetch_stats *out)
{
	*out = fetch->stats;
}
