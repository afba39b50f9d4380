/* SPDX-License-Identifier: Apache-2.0 */
/* http/routes.c - who may ask for what. A page of another site can make a browser send requests. So
 * a loopback listener answers only to the loopback's own names, which no DNS name can imitate, and
 * refuses requests that the browser marks as another site's. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "http/conn.h"
#include "http/page/index.html.h"
#include "http/places.h"

#define STATUS_WAIT_NS (5 * NSEC_PER_SEC)
#define STORE_WAIT_NS (120 * NSEC_PER_SEC)
/* Besides its seconds; the daemon ends it before. */
#define CAPTURE_WAIT_NS (90 * NSEC_PER_SEC)
#define BUSY_RETRY_S 5

void http_say(struct http_conn *conn, unsigned int status, const char *text)
{
	conn->state = HTTP_ANSWERED;
	http_answer_say(&conn->answer, status, text);
}

/* ---- who may ask ---------------------------------------------------------------------------- */

bool http_host_is_loopback(const char *host)
{
	char name[64];
	struct in_addr four;
	size_t len;

	if (!host)
		return true;
	if (*host == '[') {
		len = strcspn(host, "]");
		return len == 4 && strncmp(host, "[::1]", 5) == 0 &&
			(host[5] == '\0' || host[5] == ':');
	}
	len = strcspn(host, ":");
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (strcasecmp(name, "localhost") == 0)
		return true;
	return inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

static const char *header(const struct http_server *s, const struct http_conn *c, const char *name)
{
	return s->mhd.lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* A page that embeds another one can send nothing but cookies. */
static enum http_right right_of(const struct http_server *s, const struct http_conn *c)
{
	const char *cookie =
		s->mhd.lookup_connection_value(c->connection, MHD_COOKIE_KIND, s->cookie);

	return tokens_right(&s->tokens, header(s, c, "Authorization"), cookie,
		clock_ns(CLOCK_BOOTTIME));
}

/* A browser says which site's page asks. None of ours asks another listener. */
static bool is_of_another_site(const struct http_server *s, const struct http_conn *c)
{
	const char *site = header(s, c, "Sec-Fetch-Site"), *origin = header(s, c, "Origin");
	const char *host = header(s, c, "Host"), *from = origin ? strstr(origin, "://") : NULL;

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return true;
	return origin && (!from || !host || strcasecmp(from + strlen("://"), host) != 0);
}

/* True: it was answered. */
static bool is_refused(
	struct http_server *s, struct http_conn *c, const char *method, const char *path)
{
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		http_say(c, 405, "only GET is answered");
	else if (s->reach == LISTENER_LOOPBACK && !http_host_is_loopback(header(s, c, "Host")))
		http_say(c, 403,
			"this listens on the loopback: use localhost or 127.0.0.1 as the host "
			"name");
	else if (strcmp(path, "/") != 0 && is_of_another_site(s, c))
		http_say(c, 403, "another site's page may not ask for this");
	else if (right_of(s, c) < http_right_of(path, s->reach)) {
		http_say(c, 401,
			"this needs a token: `stoker open` prints an address for a browser, others "
			"send Authorization: Bearer TOKEN");
		c->challenge = true;
	} else if (c->too_long) {
		http_say(c, 414, "this has too many parameters, or is too long");
	}
	return c->state == HTTP_ANSWERED;
}

/* ---- what ----------------------------------------------------------------------------------- */

struct taking {
	struct http_args *args;
	struct why why;
	int err;
};

static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
	size_t name_len, const char *value, size_t value_len)
{
	struct taking *t = ctx;

	(void)kind;
	(void)name_len;
	t->err = http_args_take(t->args, name, value, value_len, &t->why);
	return t->err == 0 ? MHD_YES : MHD_NO;
}

/* False: it was answered. */
static bool take_args(struct http_server *s, struct http_conn *c, uint32_t takes)
{
	struct taking t = { .args = &c->args };

	http_args_init(&c->args, takes, clock_ns(CLOCK_REALTIME));
	s->mhd.get_connection_values_n(c->connection, MHD_GET_ARGUMENT_KIND, add_argument, &t);
	if (t.err == 0)
		t.err = http_args_check(&c->args, &t.why);
	if (t.err < 0)
		http_say(c, 400, t.why.text);
	return t.err == 0;
}

static void wait_for(struct http_conn *c, enum http_wait what, uint64_t ns)
{
	c->state = HTTP_WAITING;
	c->wait = what;
	c->ends_ns = clock_ns(CLOCK_MONOTONIC) + ns;
}

static void ask(struct http_server *s, struct http_conn *c, const struct http_message *message)
{
	/* The daemon takes as many a second as it likes, and no more. */
	if (fd_pass(s->daemon_fd, message, sizeof(*message), -1) == 0)
		return;
	http_say(c, 503, "the daemon is busy");
	c->retry_s = BUSY_RETRY_S;
}

/* One request to the daemon serves all connections that wait. */
static void ask_status(struct http_server *s, struct http_conn *c, enum http_wait what)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!take_args(s, c, 0))
		return;
	wait_for(c, what, STATUS_WAIT_NS);
	if (now < s->status_asked_ns + NSEC_PER_SEC)
		return;
	s->status_asked_ns = now;
	ask(s, c, &(struct http_message){ .kind = HTTP_ASK_STATUS });
}

static void route_metrics(struct http_server *s, struct http_conn *c)
{
	ask_status(s, c, HTTP_WAIT_METRICS);
}

static void route_alive(struct http_server *s, struct http_conn *c)
{
	ask_status(s, c, HTTP_WAIT_ALIVE);
}

static void route_ready(struct http_server *s, struct http_conn *c)
{
	ask_status(s, c, HTTP_WAIT_READY);
}

static void route_profile(struct http_server *s, struct http_conn *c)
{
	struct http_message message = { .kind = HTTP_CAPTURE, .id = c->id };
	const struct http_args *a = &c->args;

	if (!take_args(s, c,
		    HTTP_ARG_SECONDS | HTTP_ARG_HZ | HTTP_ARG_TARGET | HTTP_ARG_FORMAT |
			    HTTP_ARG_JIT | HTTP_ARG_EVENT))
		return;
	if (a->format < 0)
		c->args.format = 0;
	message.target = a->target;
	message.hz = a->hz;
	message.seconds = a->seconds;
	message.format = (uint32_t)a->format;
	message.jit = a->jit;
	snprintf(message.text, sizeof(message.text), "%s", a->target_name);
	snprintf(message.event, sizeof(message.event), "%s", a->event);
	wait_for(c, HTTP_WAIT_CAPTURE, a->seconds * NSEC_PER_SEC + CAPTURE_WAIT_NS);
	ask(s, c, &message);
}

static void put_job(struct http_server *s, struct http_conn *c, bool heat)
{
	_cleanup_(http_job_freep) struct http_job *job = calloc(1, sizeof(*job));

	if (!job) {
		http_say(c, 503, "out of memory");
		return;
	}
	job->id = c->id;
	job->heat = heat;
	job->args = c->args;
	if (http_jobs_put(s->jobs, job) < 0) {
		http_say(c, 503, "other questions are being answered");
		c->retry_s = BUSY_RETRY_S;
		return;
	}
	TAKE_PTR(job);
	wait_for(c, HTTP_WAIT_STORE, STORE_WAIT_NS);
}

static void route_query(struct http_server *s, struct http_conn *c)
{
	if (take_args(s, c,
		    HTTP_ARG_SPAN | HTTP_ARG_MATCH | HTTP_ARG_FUNCTION | HTTP_ARG_TOP |
			    HTTP_ARG_TREND | HTTP_ARG_FORMAT | HTTP_ARG_EVENT))
		put_job(s, c, false);
}

static void route_heat(struct http_server *s, struct http_conn *c)
{
	if (take_args(s, c, HTTP_ARG_SPAN | HTTP_ARG_CELLS))
		put_job(s, c, true);
}

static void route_page(struct http_server *s, struct http_conn *c)
{
	struct http_answer *a = &c->answer;

	if (!take_args(s, c, 0))
		return;
	c->state = HTTP_ANSWERED;
	*a = (struct http_answer){
		.status = 200, .type = "text/html; charset=utf-8", .shown = true
	};
	buf_put(&a->body, page_index_html, sizeof(page_index_html));
}

/* A ticket becomes a session. A HEAD would use it up for nothing. */
static void route_open(struct http_server *s, struct http_conn *c)
{
	uint8_t bytes[16];

	if (!take_args(s, c, HTTP_ARG_TICKET))
		return;
	if (c->is_head || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes) ||
		!tokens_exchange(&s->tokens, c->args.ticket, clock_ns(CLOCK_BOOTTIME), bytes,
			c->session))
		http_say(c, 401,
			"this address was used, is too old, or was made before this process began: "
			"run `stoker open` again");
	else
		http_say(c, 303, "the page is at /");
}

static const struct route {
	const char *path;
	void (*answer)(struct http_server *server, struct http_conn *conn);
	enum http_right right;
	bool quick; /* as of struct http_conn */
} routes[] = {
	{ "/", route_page, HTTP_RIGHT_ALL, false },
	{ "/open", route_open, HTTP_RIGHT_NONE, false },
	{ "/metrics", route_metrics, HTTP_RIGHT_METRICS, false },
	{ "/profile", route_profile, HTTP_RIGHT_ALL, false },
	{ "/query", route_query, HTTP_RIGHT_ALL, false },
	{ "/heat.json", route_heat, HTTP_RIGHT_ALL, false },
	{ "/healthz", route_alive, HTTP_RIGHT_NONE, true },
	{ "/readyz", route_ready, HTTP_RIGHT_NONE, true },
};

/* NULL: there is none. */
static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

enum http_right http_right_of(const char *path, enum listener_reach reach)
{
	const struct route *route = find_route(path);

	if (!route || (route->right == HTTP_RIGHT_METRICS && reach == LISTENER_LOOPBACK))
		return HTTP_RIGHT_NONE;
	return route->right;
}

/* False: it was answered. */
static bool has_place(struct http_server *s, struct http_conn *c)
{
	if (http_places_allow(s, c))
		return true;
	s->counts.limited++;
	http_say(c, 503, "too many requests are being answered");
	c->retry_s = BUSY_RETRY_S;
	return false;
}

void http_route(struct http_server *s, struct http_conn *c, const char *method, const char *path)
{
	const struct route *route = find_route(path);

	c->is_head = strcmp(method, "HEAD") == 0;
	if (is_refused(s, c, method, path))
		return;
	if (!route) {
		http_say(c, 404,
			"there are /, /open, /metrics, /profile, /query, /healthz and /readyz");
		return;
	}
	c->quick = route->quick;
	if (c->quick || has_place(s, c))
		route->answer(s, c);
}
