/* SPDX-License-Identifier: Apache-2.0 */
/* http/server.c - one loop over the HTTP library, the daemon and the store's thread. The library
 * parses. A connection that is too slow is closed at a time of ours, not some time after its last
 * byte. A request that waits is suspended and its socket watched: a capture whose client left is
 * cancelled. */
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/conn.h"
#include "http/places.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define READ_NS (10 * NSEC_PER_SEC)
#define SEND_NS (120 * NSEC_PER_SEC)
#define HEAD_BYTES_MAX (16UL << 10)
#define STATUS_BYTES_MAX (8UL << 20)

/* ---- answers -------------------------------------------------------------------------------- */

static void add(struct http_server *s, struct MHD_Response *r, const char *name, const char *value)
{
	s->mhd.add_response_header(r, name, value);
}

/* Answers have names from strangers: no script in them gets our origin. */
static const char *policy_of(const struct http_conn *c)
{
	if (c->answer.ending)
		return "sandbox allow-scripts allow-downloads; frame-ancestors 'self'";
	if (strncmp(c->answer.type, "text/html", 9) == 0) /* a page has its own */
		return "frame-ancestors 'none'";
	return "default-src 'none'; frame-ancestors 'none'";
}

static void add_headers(struct http_server *s, struct http_conn *c, struct MHD_Response *r)
{
	char text[128], when[32];
	time_t now = time(NULL);
	struct tm tm;

	add(s, r, "Content-Type", c->answer.type);
	add(s, r, "X-Content-Type-Options", "nosniff");
	add(s, r, "Referrer-Policy", "no-referrer");
	add(s, r, "Cross-Origin-Resource-Policy", "same-origin");
	add(s, r, "Cache-Control", "no-store");
	add(s, r, "Connection", "close");
	add(s, r, "Content-Security-Policy", policy_of(c));
	if (c->challenge)
		add(s, r, "WWW-Authenticate", "Bearer realm=\"stoker\"");
	if (c->session[0]) {
		snprintf(text, sizeof(text), "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict",
			s->cookie, c->session, TOKENS_SESSION_S);
		add(s, r, "Set-Cookie", text);
		add(s, r, "Location", "/");
	}
	if (c->answer.status == 405)
		add(s, r, "Allow", "GET, HEAD");
	if (c->retry_s > 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)c->retry_s);
		add(s, r, "Retry-After", text);
	}
	if (!c->answer.ending)
		return;
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(text, sizeof(text), "%s; filename=\"stoker-%s.%s\"",
		c->answer.shown ? "inline" : "attachment", when, c->answer.ending);
	add(s, r, "Content-Disposition", text);
}

/* The library has the bytes, or the file, from here on. */
static struct MHD_Response *make_response(struct http_server *s, struct http_conn *c)
{
	struct buf *body = &c->answer.body;
	struct MHD_Response *r;
	struct stat st;

	if (c->file >= 0) {
		r = fstat(c->file, &st) < 0
			? NULL
			: s->mhd.create_response_from_fd((size_t)st.st_size, c->file);
		if (r)
			c->file = -1;
		return r;
	}
	r = s->mhd.create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_FREE);
	if (r)
		*body = (struct buf)BUF_INIT;
	return r;
}

static enum MHD_Result send_answer(struct http_server *s, struct http_conn *c)
{
	struct MHD_Response *r;
	enum MHD_Result result;

	/* Half an answer is worse than none. */
	if (buf_err(&c->answer.body) < 0)
		http_say(c, 503, "out of memory");
	r = make_response(s, c);
	if (!r)
		return MHD_NO;
	add_headers(s, c, r);
	result = s->mhd.queue_response(c->connection, c->answer.status, r);
	s->mhd.destroy_response(r);
	c->state = HTTP_SENDING;
	c->ends_ns = clock_ns(CLOCK_MONOTONIC) + SEND_NS;
	if (c->answer.status < ARRAY_SIZE(s->counts.answers))
		s->counts.answers[c->answer.status]++;
	return result;
}

/* ---- connections ---------------------------------------------------------------------------- */

static struct http_conn *find_conn(struct http_server *s, uint64_t id)
{
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		if (s->conns[i].state != HTTP_FREE && s->conns[i].id == id)
			return &s->conns[i];
	return NULL;
}

static struct http_conn *find_waiting(struct http_server *s, uint64_t id, enum http_wait what)
{
	struct http_conn *c = find_conn(s, id);

	return c && c->state == HTTP_WAITING && c->wait == what ? c : NULL;
}

static void cancel(struct http_server *s, const struct http_conn *c)
{
	const struct http_message message = { .kind = HTTP_CANCEL, .id = c->id };

	if (c->state == HTTP_WAITING && c->wait == HTTP_WAIT_CAPTURE)
		fd_pass(s->daemon_fd, &message, sizeof(message), -1);
}

/* Resumes a connection that waited: its answer is set. */
static void go_on(struct http_server *s, struct http_conn *c)
{
	epoll_ctl(s->watch_fd, EPOLL_CTL_DEL, c->fd, NULL);
	c->state = HTTP_ANSWERED;
	s->mhd.resume_connection(c->connection);
}

static void begin_conn(struct http_server *s, struct http_conn *c, int fd)
{
	*c = (struct http_conn){ .state = HTTP_READING,
		.id = ++s->next_id,
		.fd = fd,
		.file = -1,
		.peer = peer_of(fd, s->diag_fd),
		.ends_ns = clock_ns(CLOCK_MONOTONIC) + READ_NS };
	s->counts.connections++;
}

static void end_conn(struct http_server *s, struct http_conn *c)
{
	cancel(s, c);
	buf_done(&c->answer.body);
	fd_close(&c->file);
	c->state = HTTP_FREE;
	s->counts.connections--;
}

/* A peer that opens connections and sends no requests displaces its own ones: a request that comes
 * at once is read before its connection is the oldest. */
static void make_room(struct http_server *s, struct http_conn *newcomer)
{
	struct http_conn *c = http_places_displace(s, newcomer);

	if (!c)
		return;
	c->ends_ns = UINT64_MAX;
	shutdown(c->fd, SHUT_RDWR);
	s->counts.displaced++;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **slot,
	enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = ctx;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*slot)
			end_conn(s, *slot);
		*slot = NULL;
		return;
	}
	info = s->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (size_t i = 0; info && i < HTTP_CONNECTIONS_MAX; i++) {
		if (s->conns[i].state != HTTP_FREE)
			continue;
		begin_conn(s, &s->conns[i], info->connect_fd);
		*slot = &s->conns[i];
		make_room(s, &s->conns[i]);
		return;
	}
	*slot = NULL;
}

static void suspend(struct http_server *s, struct http_conn *c)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = c->id };

	epoll_ctl(s->watch_fd, EPOLL_CTL_ADD, c->fd, &event);
	s->mhd.suspend_connection(c->connection);
}

/* Called before the library reads the parameters. Each takes some of the connection's memory, and
 * libmicrohttpd 0.9.75 sends no answer where that is used up. So too many are cut off in its
 * buffer, and the request is refused. */
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *connection)
{
	struct http_server *s = ctx;
	const union MHD_ConnectionInfo *info =
		s->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_conn *c = info ? info->socket_context : NULL;
	char *args = uri ? strchr(uri, '?') : NULL;
	size_t len = 1;

	for (const char *at = args; at && (at = strchr(at, '&')); at++)
		len++;
	if (!c || !args || (len <= HTTP_ARGS_MAX && strlen(uri) <= HTTP_URI_BYTES_MAX))
		return NULL;
	c->too_long = true;
	args[1] = '\0';
	return NULL;
}

/* First for the head alone, then for all of it, and again when it waited. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *body, size_t *body_len, void **slot)
{
	struct http_server *s = ctx;
	const union MHD_ConnectionInfo *info =
		s->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_conn *c = info ? info->socket_context : NULL;

	(void)version;
	(void)body;
	if (!c || c->state == HTTP_SENDING)
		return MHD_NO;
	/* Nobody reads a request's body. */
	if (*body_len > 0) {
		*body_len = 0;
		return MHD_YES;
	}
	*slot = c;
	c->connection = connection;
	if (c->state == HTTP_READING)
		http_route(s, c, method, path);
	if (c->state == HTTP_WAITING) {
		suspend(s, c);
		return MHD_YES;
	}
	return send_answer(s, c);
}

static uint64_t next_end(const struct http_server *s)
{
	uint64_t soonest = CLOCK_NEVER_NS;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		if (s->conns[i].state != HTTP_FREE)
			soonest = clock_sooner(soonest, s->conns[i].ends_ns);
	return soonest;
}

/* Closes slow connections, and answers those that waited too long. */
static void look_at_clock(struct http_server *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct http_conn *c = &s->conns[i];

		if (c->state == HTTP_FREE || now < c->ends_ns)
			continue;
		c->ends_ns = UINT64_MAX;
		if (c->state != HTTP_WAITING) {
			shutdown(c->fd, SHUT_RDWR);
			continue;
		}
		cancel(s, c);
		http_say(c, 503, "the daemon does not answer");
		go_on(s, c);
	}
}

static void hear_ends(struct http_server *s)
{
	struct epoll_event events[16];
	int len = epoll_wait(s->watch_fd, events, ARRAY_SIZE(events), 0);

	for (int i = 0; i < len; i++) {
		struct http_conn *c = find_conn(s, events[i].data.u64);

		if (!c || c->state != HTTP_WAITING)
			continue;
		cancel(s, c);
		http_say(c, 499, "nobody is there any more");
		go_on(s, c);
	}
}

/* ---- the daemon's word ---------------------------------------------------------------------- */

static void answer_status(struct http_server *s, struct http_conn *c, const json_t *status)
{
	struct why why;

	if (c->wait == HTTP_WAIT_ALIVE) {
		http_say(c, 200, "alive");
	} else if (c->wait == HTTP_WAIT_READY) {
		unsigned int code = http_metrics_health(status, &why) == 0 ? 200 : 503;

		http_say(c, code, why.text);
	} else {
		c->answer = (struct http_answer){ .status = 200,
			.type = "text/plain; version=0.0.4; charset=utf-8",
			.shown = true };
		http_metrics_write(status, &s->counts, &c->answer.body);
	}
	go_on(s, c);
}

static void take_status(struct http_server *s, int fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	json_t *status = NULL;

	s->status_asked_ns = 0;
	if (fd >= 0 && fd_read_all(fd, STATUS_BYTES_MAX, &text) == 0)
		status = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct http_conn *c = &s->conns[i];

		if (c->state == HTTP_WAITING &&
			(c->wait == HTTP_WAIT_ALIVE || c->wait == HTTP_WAIT_READY ||
				c->wait == HTTP_WAIT_METRICS))
			answer_status(s, c, status);
	}
	json_decref(status);
}

/* err: why the daemon refused the capture, or how it ended (struct capture_result). */
static unsigned int status_of(int err)
{
	switch (err) {
	case -ENOENT:
		return 404;
	case -EINVAL:
		return 400;
	case -EACCES:
		return 403;
	case -EBUSY:
		return 503;
	case -EAGAIN:
		return 429;
	case -ETIMEDOUT:
		return 504;
	default:
		return 500;
	}
}

static void take_refusal(struct http_server *s, const struct http_message *m)
{
	struct http_conn *c = find_waiting(s, m->id, HTTP_WAIT_CAPTURE);

	if (!c)
		return;
	http_say(c, status_of(m->err), m->text);
	c->retry_s = (m->retry_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC;
	go_on(s, c);
}

static void take_capture(struct http_server *s, const struct http_message *m, int given)
{
	_cleanup_fd_ int fd = given;
	struct http_conn *c = find_waiting(s, m->id, HTTP_WAIT_CAPTURE);
	const struct http_format *f;

	if (!c)
		return;
	if (m->err < 0 || fd < 0) {
		take_refusal(s, m);
		return;
	}
	f = &http_formats[c->args.format];
	c->answer = (struct http_answer){
		.status = 200, .type = f->type, .ending = f->ending, .shown = f->shown
	};
	c->file = TAKE_FD(fd);
	go_on(s, c);
}

/* The end of the daemon is ours. */
static void hear_daemon(struct http_server *s)
{
	for (;;) {
		_cleanup_fd_ int fd = -1;
		struct http_message m;
		int err = fd_take(s->daemon_fd, MSG_DONTWAIT, &m, sizeof(m), &fd);

		if (err == -EAGAIN)
			return;
		if (err < 0)
			_exit(WORKER_EXIT_END);
		if (m.kind == HTTP_STATUS)
			take_status(s, fd);
		else if (m.kind == HTTP_REFUSED)
			take_refusal(s, &m);
		else if (m.kind == HTTP_CAPTURED)
			take_capture(s, &m, TAKE_FD(fd));
	}
}

static void hear_jobs(struct http_server *s)
{
	struct http_job *job;

	while ((job = http_jobs_take(s->jobs))) {
		struct http_conn *c = find_waiting(s, job->id, HTTP_WAIT_STORE);

		if (c) {
			c->answer = job->answer;
			job->answer.body = (struct buf)BUF_INIT;
			go_on(s, c);
		}
		http_job_free(job);
	}
}

/* ---- begin ---------------------------------------------------------------------------------- */

_Noreturn static void serve(struct http_server *s)
{
	const union MHD_DaemonInfo *info =
		s->mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {
		{ .fd = info->epoll_fd, .events = POLLIN },
		{ .fd = s->daemon_fd, .events = POLLIN },
		{ .fd = http_jobs_fd(s->jobs), .events = POLLIN },
		{ .fd = s->watch_fd, .events = POLLIN },
	};

	for (;;) {
		MHD_UNSIGNED_LONG_LONG library_ms;
		int wait_ms;

		s->mhd.run(s->daemon);
		wait_ms = clock_wait_ms(clock_ns(CLOCK_MONOTONIC), next_end(s));
		if (s->mhd.get_timeout(s->daemon, &library_ms) == MHD_YES &&
			library_ms < (unsigned int)wait_ms)
			wait_ms = (int)library_ms;
		poll(fds, ARRAY_SIZE(fds), wait_ms);
		hear_daemon(s);
		hear_jobs(s);
		hear_ends(s);
		look_at_clock(s);
	}
}

static int start_library(struct http_server *s, int listener)
{
	s->daemon = s->mhd.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, s, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_CONNECTIONS_MAX - 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HEAD_BYTES_MAX, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_uri, s,
		MHD_OPTION_END);
	return s->daemon ? 0 : -EIO;
}

static int take_message(struct http_server *s, enum http_kind kind, struct http_message *m, int *fd)
{
	int err;

	do
		err = fd_take(s->daemon_fd, 0, m, sizeof(*m), fd);
	while (err == -EAGAIN);
	return err == 0 && (m->kind != kind || *fd < 0) ? -EPROTO : err;
}

static void name_cookie(struct http_server *s, int listener)
{
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);
	in_port_t port = 0;

	getsockname(listener, (struct sockaddr *)&at, &len);
	if (at.ss_family == AF_INET)
		port = ((const struct sockaddr_in *)&at)->sin_port;
	else if (at.ss_family == AF_INET6)
		port = ((const struct sockaddr_in6 *)&at)->sin6_port;
	snprintf(s->cookie, sizeof(s->cookie), "stoker-%u", ntohs(port));
}

/* First comes all that needs rights which are given up afterwards. */
static int begin(struct http_server *s)
{
	_cleanup_fd_ int listener = -1, store = -1;
	struct http_message m;
	uint32_t report;

	if (take_message(s, HTTP_LISTEN, &m, &listener) < 0)
		return WORKER_EXIT_SANDBOX;
	memcpy(s->tokens.token, m.text, sizeof(s->tokens.token));
	s->tokens.started_ns = clock_ns(CLOCK_BOOTTIME);
	s->reach = (enum listener_reach)m.reach;
	name_cookie(s, listener);
	if (take_message(s, HTTP_STORE, &m, &store) < 0)
		return WORKER_EXIT_SANDBOX;
	memcpy(s->tokens.metrics, m.text, sizeof(s->tokens.metrics));
	tzset();
	s->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	s->diag_fd = peer_open();
	if (s->watch_fd < 0 || start_library(s, listener) < 0 ||
		sandbox_enter_server(listener, store, &report) < 0)
		return WORKER_EXIT_SANDBOX;
	TAKE_FD(listener);
	switch (http_jobs_start(&s->jobs)) {
	case 0:
		return 0;
	case -EAGAIN:
		return HTTP_EXIT_THREAD;
	default:
		return WORKER_EXIT_MEMORY;
	}
}

const char *http_exit_text(int status)
{
	switch (status) {
	case HTTP_EXIT_LIBRARY:
		return "libmicrohttpd.so.12 is not there; install libmicrohttpd12";
	case HTTP_EXIT_THREAD:
		return "it cannot start a thread: its user has as many processes as the limit "
		       "allows (ulimit -u, LimitNPROC)";
	case WORKER_EXIT_SANDBOX:
		return sandbox_failure(true);
	default:
		return NULL;
	}
}

int http_server_main(int socket_fd)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int status;

	if (!s)
		return WORKER_EXIT_MEMORY;
	s->daemon_fd = socket_fd;
	prctl(PR_SET_NAME, "stoker-http");
	signal(SIGPIPE, SIG_IGN);
	if (!mhd_load(&s->mhd))
		return HTTP_EXIT_LIBRARY;
	status = begin(s);
	if (status != 0)
		return status;
	serve(s);
}
