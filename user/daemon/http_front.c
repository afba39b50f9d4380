/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_front.c - obeys three orders of the serving process (base/orders.h): a status, made
 * a few times a second at most; a capture, within the pool's limits; its end. The process has a
 * budget of orders a second, and an invalid order ends it. Captures' ids are its own; the daemon
 * only sends them back. A descriptor that cannot be sent now (base/fd.h) is sent later. */
#include "daemon/http_front.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/library.h"
#include "base/orders.h"
#include "agent/privileges.h"
#include "daemon/memory.h"
#include "daemon/perf_maps.h"
#include "http/token_file.h"
#include "http/listener.h"
#include "http/proto.h"
#include "http/server.h"
#include "client/starter.h"
#include "output/place.h"

#define MESSAGES_A_SECOND 200
#define STATUS_EVERY_NS (NSEC_PER_SEC / 5)
#define END_MS 2000
#define BACK_OFF_NS (NSEC_PER_SEC / 2)
#define BACK_OFF_MAX_NS (60 * NSEC_PER_SEC)
#define SETTLED_NS (60 * NSEC_PER_SEC)
#define AGAIN_NS (NSEC_PER_SEC / 10)
#define BEGINNING 2
/* A capture's time limit beyond its seconds: it loads, names and writes. */
#define CAPTURE_GRACE_NS (60 * NSEC_PER_SEC)

_Static_assert(HTTP_TEXT_MAX == WHY_MAX, "a reason fits into a message");
_Static_assert(sizeof(struct http_message) <= STARTER_WANTED_BYTES, "it is what a starter is sent");

/* A capture's number here, and what the process calls it. */
struct asked {
	uint64_t capture; /* 0: a free place */
	uint64_t id;
	/* With kind HTTP_CAPTURED it has ended, and this is to be sent, with the profile. */
	struct http_message done;
	int fd;
};

struct http_front {
	struct http_front_options options;
	struct starter starter;
	struct captures *captures;
	struct asked asked[HTTP_CAPTURES_AT_ONCE];
	char token[HTTP_TEXT_MAX], metrics_token[HTTP_TEXT_MAX];
	bool unsaved; /* one of them, or both */
	int epoll_fd, store;
	struct child child;
	uint64_t started_ns, start_ns, back_off_ns; /* CLOCK_MONOTONIC */
	uint64_t budget_ns;                         /* when the budget was filled last */
	unsigned int budget;
	bool muted, said, said_unsent;
	unsigned int begun; /* messages of its start that were sent, of BEGINNING */
	uint64_t again_ns;  /* something could not be sent, and is sent again then; 0: nothing */
	uint64_t status_ns;
	struct buf status;
	struct http_front_stats stats;
};

/* ---- the process ---------------------------------------------------------------------------- */

static void forget(struct asked *asked)
{
	if (asked->done.kind == HTTP_CAPTURED)
		fd_close(&asked->fd);
	*asked = (struct asked){ .fd = -1 };
}

static void forget_captures(struct http_front *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->asked); i++) {
		captures_end(f->captures, f->asked[i].capture);
		forget(&f->asked[i]);
	}
}

/* How it ended, as of wait(2); 0: there was none. */
static int end_process(struct http_front *f)
{
	struct child_end end;

	if (f->child.pid == 0)
		return 0;
	starter_kill(&f->starter, f->child.pid);
	fd_close(&f->child.fd);
	/* Only the starter can kill a process that was taken over; without it, it ends with us. */
	if (child_wait(&f->child, END_MS, &end) == -EAGAIN)
		child_leave(&f->child);
	f->stats.cpu_ns += end.cpu_ns;
	forget_captures(f);
	return end.status;
}

/* It is started again, later each time it did not last. */
static void lose_process(struct http_front *f, const char *why)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int end = end_process(f);
	const char *text = WIFEXITED(end) ? http_exit_text(WEXITSTATUS(end)) : NULL;

	if (now - f->started_ns >= SETTLED_NS || f->back_off_ns == 0)
		f->back_off_ns = BACK_OFF_NS;
	else if (f->back_off_ns < BACK_OFF_MAX_NS)
		f->back_off_ns *= 2;
	if (!f->said || f->back_off_ns == BACK_OFF_NS)
		log_warn(f->options.log,
			"the process that serves HTTP was lost: %s; there will be another",
			text ? text : why);
	f->said = true;
	f->start_ns = now + f->back_off_ns;
	f->stats.restarts++;
}

static void note_unsent(struct http_front *f)
{
	f->again_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	if (!f->said_unsent)
		log_warn(f->options.log,
			"HTTP: %s; answers wait until they are read. End the process of user %u "
			"that sends them, or give stoker CAP_SYS_RESOURCE or a higher LimitNOFILE",
			err_text(ETOOMANYREFS), (unsigned int)getuid());
	f->said_unsent = true;
}

/* -ETOOMANYREFS: to be repeated at again_ns. */
static int give(struct http_front *f, const struct http_message *message, int fd)
{
	int err = fd_pass(f->child.fd, message, sizeof(*message), fd);

	if (err == -ETOOMANYREFS)
		note_unsent(f);
	return err;
}

/* An idle daemon has no file system, and the store that it began with. */
static int open_store(struct http_front *f)
{
	struct why why;
	int fd = -1, err = place_open_store(f->options.store, false, &fd, &why);

	if (err < 0)
		return f->options.idle && f->store >= 0 ? 0 : err;
	fd_close(&f->store);
	f->store = fd;
	return 0;
}

/* The listener, the tokens and the store. */
static int give_begin(struct http_front *f)
{
	int err = open_store(f);
	struct http_message messages[BEGINNING] = {
		{ .kind = HTTP_LISTEN, .reach = f->options.reach },
		{ .kind = HTTP_STORE },
	};
	const int fds[BEGINNING] = { f->options.listener, f->store };

	memcpy(messages[0].text, f->token, sizeof(messages[0].text));
	memcpy(messages[1].text, f->metrics_token, sizeof(messages[1].text));
	while (err == 0 && f->begun < BEGINNING) {
		err = give(f, &messages[f->begun], fds[f->begun]);
		f->begun += err == 0;
	}
	return err == -ETOOMANYREFS ? 0 : err;
}

static void set_muted(struct http_front *f, bool muted)
{
	struct epoll_event event = { .events = muted ? 0 : EPOLLIN };

	if (epoll_ctl(f->epoll_fd, EPOLL_CTL_MOD, f->child.fd, &event) == 0)
		f->muted = muted;
}

static void start_process(struct http_front *f)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err;

	if (f->child.pid > 0 || now < f->start_ns)
		return;
	err = starter_start(&f->starter, HTTP_ARGUMENT, &f->child);
	if (err < 0) {
		f->start_ns = now + BACK_OFF_MAX_NS;
		log_warn(f->options.log, "cannot start the process that serves HTTP: %s",
			err_text(err));
		return;
	}
	f->started_ns = f->budget_ns = now;
	f->budget = MESSAGES_A_SECOND;
	f->muted = false;
	f->begun = 0;
	err = fd_watch(f->epoll_fd, f->child.fd);
	if (err == 0)
		err = give_begin(f);
	if (err < 0)
		lose_process(f, err_text(err));
}

/* ---- what it asks for ----------------------------------------------------------------------- */

static int obey_status(void *ctx, struct orders_call *call)
{
	struct http_message *answer = call->answer;
	struct http_front *f = ctx;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	if (f->status.len == 0 || now - f->status_ns >= STATUS_EVERY_NS) {
		buf_clear(&f->status);
		err = f->options.status(f->options.ctx, &f->status);
		f->status_ns = now;
	}
	answer->kind = HTTP_STATUS;
	return err < 0 ? err : fd_in_memory("status", f->status.data, f->status.len, &call->fd);
}

/* The answer goes without a status. */
static void on_unsent(void *ctx, struct orders_call *call)
{
	struct http_message *answer = call->answer;

	answer->err = -ETOOMANYREFS;
	note_unsent(ctx);
}

static struct asked *find_asked(struct http_front *f, uint64_t capture)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->asked); i++)
		if (f->asked[i].capture == capture)
			return &f->asked[i];
	return NULL;
}

/* In a child of the starter, which takes our word for nothing. */
static int run_capture(void *ctx, const void *wanted, bool clocks)
{
	const struct http_front *f = ctx;

	return capture_become(wanted, f->options.tick_limit_us, f->options.tables,
		f->options.jit == CONFIG_JIT_ON_DEMAND, clocks);
}

static int serve_maps(void *ctx, int fd)
{
	const struct http_front *f = ctx;
	struct perf_maps_notes notes;
	const struct clerk_options options = {
		.jit_notes = perf_maps_notes(f->options.store, &notes), .log = f->options.log
	};

	return clerk_serve_jit(&options, fd);
}

static int start_capture(
	struct http_front *f, const struct http_message *m, uint64_t *retry_ns, struct why *why)
{
	const struct capture_order order = { .wanted = m,
		.size = sizeof(*m),
		.maps = m->jit && f->options.jit == CONFIG_JIT_ON_DEMAND,
		.most_ns = m->seconds * NSEC_PER_SEC + CAPTURE_GRACE_NS };
	uint64_t capture;
	int err = captures_start(f->captures, &order, &capture, retry_ns, why);

	/* There is room: refuse_capture looked. */
	if (err == 0)
		*find_asked(f, 0) = (struct asked){ .capture = capture, .id = m->id, .fd = -1 };
	return err;
}

static int refuse_capture(struct http_front *f, const struct http_message *m, struct why *why)
{
	if (f->options.idle)
		return why_set(why, -EBUSY, "idle: %s", f->options.idle);
	if (!f->options.captures)
		return why_set(why, -EACCES, "`captures` of [http] is off");
	if (m->jit && f->options.jit == CONFIG_JIT_NEVER)
		return why_set(why, -EACCES, "`enable` of [jit] is never");
	/* A profile may still have its place. */
	if (f->again_ns > 0)
		return why_set(why, -EBUSY, "%s", err_text(ETOOMANYREFS));
	return 0;
}

/* The answer is a refusal. on_captured sends the profile. */
static int obey_capture(void *ctx, struct orders_call *call)
{
	struct http_message *m = call->order, *answer = call->answer;
	struct http_front *f = ctx;
	struct why why = { "" };

	m->text[HTTP_TEXT_MAX - 1] = '\0';
	if (!http_capture_is_valid(m))
		return -EPROTO;
	answer->kind = HTTP_REFUSED;
	answer->id = m->id;
	answer->err = refuse_capture(f, m, &why);
	if (answer->err == 0)
		answer->err = start_capture(f, m, &answer->retry_ns, &why);
	if (answer->err == 0)
		return ORDERS_SILENT;
	memcpy(answer->text, why.text, sizeof(answer->text));
	return 0;
}

static int obey_cancel(void *ctx, struct orders_call *call)
{
	const struct http_message *m = call->order;
	struct http_front *f = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(f->asked); i++)
		if (f->asked[i].capture > 0 && f->asked[i].id == m->id)
			captures_end(f->captures, f->asked[i].capture);
	return ORDERS_SILENT;
}

static const struct orders_row rows[] = {
	[HTTP_ASK_STATUS] = { ORDERS_OWNER, obey_status },
	[HTTP_CAPTURE] = { ORDERS_OWNER, obey_capture },
	[HTTP_CANCEL] = { ORDERS_OWNER, obey_cancel },
};

static void fill_budget(struct http_front *f)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - f->budget_ns < NSEC_PER_SEC)
		return;
	f->budget_ns = now;
	f->budget = MESSAGES_A_SECOND;
	if (f->muted)
		set_muted(f, false);
}

static void obey_all(struct http_front *f)
{
	const struct orders orders = { .rows = rows,
		.rows_len = ARRAY_SIZE(rows),
		.order_bytes = sizeof(struct http_message),
		.answer_bytes = sizeof(struct http_message),
		.unsent = on_unsent,
		.ctx = f };

	while (f->child.pid > 0 && f->budget > 0) {
		int err = orders_obey(&orders, f->child.fd, ORDERS_OWNER);

		if (err == -EAGAIN)
			return;
		f->budget--;
		f->stats.refused += err == -EPROTO || err == -ENOBUFS;
		if (err < 0)
			lose_process(f,
				err == -EPIPE             ? "it has ended"
					: err == -EPROTO  ? "it sent an invalid order"
					: err == -ENOBUFS ? "it does not take its answers"
							  : err_text(err));
	}
	if (f->child.pid > 0 && !f->muted) {
		f->stats.refused++;
		set_muted(f, true);
	}
}

/* ---- captures ------------------------------------------------------------------------------- */

static void give_captured(struct http_front *f, struct asked *asked)
{
	int err = f->child.pid > 0 ? give(f, &asked->done, asked->fd) : 0;

	if (err != -ETOOMANYREFS)
		forget(asked);
	if (err < 0 && err != -ETOOMANYREFS)
		lose_process(f, "it does not take what it asked for");
}

static void on_captured(void *ctx, struct capture_result *result)
{
	struct http_front *f = ctx;
	struct asked *asked = find_asked(f, result->id);

	if (!asked)
		return;
	asked->done =
		(struct http_message){ .kind = HTTP_CAPTURED, .id = asked->id, .err = result->err };
	memcpy(asked->done.text, result->why.text, sizeof(asked->done.text));
	asked->fd = result->err == 0 ? TAKE_FD(result->fd) : -1;
	give_captured(f, asked);
}

/* Sends the messages whose descriptors could not be sent. */
static void give_again(struct http_front *f)
{
	int err = 0;

	if (f->again_ns == 0 || f->child.pid == 0 || clock_ns(CLOCK_MONOTONIC) < f->again_ns)
		return;
	f->again_ns = 0;
	if (f->begun < BEGINNING && (err = give_begin(f)) < 0)
		lose_process(f, err_text(err));
	for (size_t i = 0; i < ARRAY_SIZE(f->asked); i++)
		if (f->asked[i].done.kind == HTTP_CAPTURED)
			give_captured(f, &f->asked[i]);
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* The given token file, or else our own. A unix socket needs none: its file's mode decides. */
static int read_token(
	struct http_front *f, const char *given, const char *ours, char *out, struct why *why)
{
	int err;

	if (*given)
		return token_file_trust(given, out, why);
	if (f->options.reach == LISTENER_UNIX)
		return 0;
	err = token_file_make(f->options.store, ours, out, why);
	if (err != TOKEN_FILE_UNSAVED)
		return err;
	if (!f->unsaved)
		log_warn(f->options.log, "%s; no client has the token until it can be written",
			why->text);
	f->unsaved = true;
	return 0;
}

static int save_token(
	const struct http_front *f, const char *given, const char *ours, const char *token)
{
	struct why why;
	int err = *given ? 0 : token_file_save(f->options.store, ours, token, &why);

	if (err < 0 && !err_unwritable(err))
		log_warn(f->options.log, "%s", why.text);
	return err;
}

void http_front_save_tokens(struct http_front *f)
{
	int err;

	if (!f->unsaved)
		return;
	err = save_token(f, f->options.token_file, TOKEN_FILE, f->token);
	if (err == 0)
		err = save_token(
			f, f->options.metrics_token_file, TOKEN_FILE_METRICS, f->metrics_token);
	f->unsaved = err_unwritable(err);
}

int http_front_listen(
	const char *listen, bool given, struct log *log, struct listener *out, struct why *why)
{
	int err = library_check("cannot serve HTTP", "libmicrohttpd", "`listen = off`", why);

	if (err < 0 && !given) {
		log_warn(log, "%s", why->text);
		return 0;
	}
	return err < 0 ? err : listener_open(listen, out, why);
}

int http_front_open(const struct http_front_options *options, struct http_front **out,
	enum http_front_key *key, struct why *why)
{
	_cleanup_(http_front_freep) struct http_front *f = calloc(1, sizeof(*f));
	int err;

	*key = HTTP_FRONT_TOKEN;
	if (!f)
		return why_set(why, -ENOMEM, "out of memory");
	*f = (struct http_front){ .options = *options,
		.starter = STARTER_INIT,
		.epoll_fd = -1,
		.store = -1,
		.child = CHILD_INIT };
	err = read_token(f, options->token_file, TOKEN_FILE, f->token, why);
	if (err < 0)
		return err;
	*key = HTTP_FRONT_METRICS_TOKEN;
	err = read_token(f, options->metrics_token_file, TOKEN_FILE_METRICS, f->metrics_token, why);
	if (err < 0)
		return err;
	*out = TAKE_PTR(f);
	return 0;
}

int http_front_start(struct http_front *f, struct why *why)
{
	const struct capture_limits limits = { HTTP_CAPTURES_AT_ONCE, HTTP_CAPTURES_A_MINUTE,
		f->options.log };
	struct epoll_event event = { 0 }; /* EPOLLHUP is always reported */
	const struct starter_duties duties = { .program = HTTP_ARGUMENT,
		.capture = f->options.captures && !f->options.idle ? run_capture : NULL,
		.maps = f->options.jit == CONFIG_JIT_ON_DEMAND ? serve_maps : NULL,
		.ctx = f,
		.caps = privileges_caps(),
		.maps_caps = PERF_MAPS_CAPS };
	int err = captures_new(&limits, &f->starter, on_captured, f, &f->captures, why);

	if (err < 0)
		return err;
	open_store(f);
	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = f->epoll_fd < 0 ? -errno : fd_watch(f->epoll_fd, captures_fd(f->captures));
	if (err == 0)
		err = starter_open(&f->starter, &duties);
	if (err == 0 && epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, f->starter.child.fd, &event) < 0)
		err = -errno;
	return err < 0 ? why_set(why, err, "cannot set up HTTP: %s", fd_watch_text(err)) : 0;
}

void http_front_free(struct http_front *f)
{
	if (!f)
		return;
	if (f->captures)
		end_process(f);
	captures_free(f->captures);
	starter_close(&f->starter);
	fd_close(&f->epoll_fd);
	fd_close(&f->store);
	buf_done(&f->status);
	free(f);
}

int http_front_listener(const struct http_front *f)
{
	return f->options.listener;
}

bool http_front_starter_lost(struct http_front *f)
{
	return starter_lost(&f->starter);
}

int http_front_fd(const struct http_front *f)
{
	return f->epoll_fd;
}

void http_front_poll(struct http_front *f)
{
	if (captures_poll(f->captures))
		starter_wake(&f->starter, &f->child);
	start_process(f);
	give_again(f);
	fill_budget(f);
	obey_all(f);
}

void http_front_end_captures(struct http_front *f)
{
	f->options.captures = false;
	for (size_t i = 0; i < ARRAY_SIZE(f->asked); i++) {
		struct http_message refusal = { .kind = HTTP_REFUSED, .id = f->asked[i].id };
		struct why why = { "" };

		if (f->asked[i].capture == 0)
			continue;
		captures_end(f->captures, f->asked[i].capture);
		forget(&f->asked[i]);
		refusal.err = refuse_capture(f, &refusal, &why);
		memcpy(refusal.text, why.text, sizeof(refusal.text));
		if (f->child.pid > 0 && give(f, &refusal, -1) < 0)
			lose_process(f, "it does not take what it asked for");
	}
}

uint64_t http_front_due_ns(const struct http_front *f)
{
	uint64_t due_ns = captures_due_ns(f->captures);

	if (f->child.pid == 0)
		return clock_sooner(due_ns, f->start_ns);
	due_ns = clock_sooner(due_ns, f->again_ns > 0 ? f->again_ns : CLOCK_NEVER_NS);
	return f->muted ? clock_sooner(due_ns, f->budget_ns + NSEC_PER_SEC) : due_ns;
}

void http_front_stats(const struct http_front *f, struct http_front_stats *out)
{
	*out = f->stats;
	out->cpu_ns += clock_process_ns(f->child.pid);
	out->rss_bytes = memory_resident(f->child.pid);
	captures_stats(f->captures, &out->captures);
}
