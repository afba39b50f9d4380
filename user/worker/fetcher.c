/* SPDX-License-Identifier: Apache-2.0 */
/* worker/fetcher.c - only this process loads libcurl, which brings a TLS library with it. No
 * capability, another user, no new privileges, limits, a filter of system calls; network and /etc
 * remain, because names and certificates need them. Files are written where the client says.
 * Another instance queries a container runtime, over a connection that it is given. */
#include "worker/fetcher.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/library.h"
#include "base/orders.h"
#include "base/own.h"
#include "worker/filter.h"
#include "worker/sandbox.h"
#include "worker/sanitizer.h"
#include "bpf/reasons.h"
#include "elf/build_id.h"
#include "wire/fetch_proto.h"
#include "worker/users.h"
#include "worker/worker.h"

#define CONNECT_MS 3000
#define SLOW_BYTES 1000 /* a second, for */
#define SLOW_S 5
#define REDIRECTS_MAX 3
#define DATA_BYTES_MAX (256UL << 20)
#define FDS_MAX 64

struct curl {
	CURL *(*init)(void);
	CURLcode (*set)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*info)(CURL *handle, CURLINFO info, ...);
	void (*cleanup)(CURL *handle);
};

struct server {
	char url[FETCH_URL_MAX]; /* "": not to be asked */
};

struct fetcher {
	int fd;
	bool has_curl;
	struct curl curl;
	struct server servers[FETCH_SERVERS_MAX];
	size_t servers_len;
	int out; /* the client's file for the next answer; -1: none */
	uint64_t bytes;
	bool too_large;
};

/* ---- privileges ----------------------------------------------------------------------------- */

static int leave_privileges(void)
{
	uid_t uid = users_choose(USERS_FETCHER);
	int err;

	caps_bound(0);
	if (geteuid() == 0 && uid == 0)
		return -EUSERS;
	if (geteuid() == 0 &&
		(setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
			setresuid(uid, uid, uid) < 0))
		return -errno;
	err = caps_limit(0);
	if (err == 0)
		err = sandbox_limit(FDS_MAX, FETCH_FILE_BYTES_MAX, DATA_BYTES_MAX);
	if (err < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err < 0 ? err : -errno;
	(void)sandbox_deny_writing();
	/* No sample waits for a download: it leaves the starter's session and its nice value. */
	setsid();
	child_set_nice(0);
	return filter_enter(FILTER_FETCHER);
}

/* ---- libcurl -------------------------------------------------------------------------------- */

static bool load_curl(struct curl *curl)
{
	static const char *const files[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
	static const struct library_symbol functions[] = {
		{ "curl_easy_init", offsetof(struct curl, init) },
		{ "curl_easy_setopt", offsetof(struct curl, set) },
		{ "curl_easy_perform", offsetof(struct curl, perform) },
		{ "curl_easy_getinfo", offsetof(struct curl, info) },
		{ "curl_easy_cleanup", offsetof(struct curl, cleanup) },
	};

	return library_load(files, functions, ARRAY_SIZE(functions), curl);
}

static size_t on_bytes(char *data, size_t size, size_t count, void *ctx)
{
	struct fetcher *f = ctx;

	if (size * count > FETCH_FILE_BYTES_MAX - f->bytes) {
		f->too_large = true;
		return 0;
	}
	if (fd_write_all(f->out, data, size * count) < 0)
		return 0;
	f->bytes += size * count;
	return size * count;
}

/* Not 0: the peer has gone, so stop. */
static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct fetcher *f = ctx;
	struct pollfd peer = { .fd = f->fd, .events = POLLRDHUP };

	(void)a, (void)b, (void)c, (void)d;
	return poll(&peer, 1, 0) == 1 && (peer.revents & (POLLRDHUP | POLLHUP));
}

static void set_options(struct fetcher *f, CURL *handle, const char *url)
{
	const struct curl *curl = &f->curl;

	curl->set(handle, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl->set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->set(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
	curl->set(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	curl->set(handle, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	curl->set(handle, CURLOPT_NOSIGNAL, 1L);
	curl->set(handle, CURLOPT_FAILONERROR, 1L);
	curl->set(handle, CURLOPT_FOLLOWLOCATION, 1L);
	curl->set(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl->set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl->set(handle, CURLOPT_TIMEOUT_MS, (long)FETCH_FILE_MS);
	curl->set(handle, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	curl->set(handle, CURLOPT_LOW_SPEED_TIME, (long)SLOW_S);
	curl->set(handle, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)FETCH_FILE_BYTES_MAX);
	curl->set(handle, CURLOPT_USERAGENT, "stoker");
	curl->set(handle, CURLOPT_WRITEFUNCTION, on_bytes);
	curl->set(handle, CURLOPT_WRITEDATA, f);
	curl->set(handle, CURLOPT_NOPROGRESS, 0L);
	curl->set(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl->set(handle, CURLOPT_XFERINFODATA, f);
}

static enum fetch_reason reason_of(const struct fetcher *f, CURLcode code, long status)
{
	if (f->too_large)
		return FETCH_TOO_LARGE;
	switch (code) {
	case CURLE_OK:
		return f->bytes > 0 ? FETCH_DONE : FETCH_FAILED;
	case CURLE_HTTP_RETURNED_ERROR:
		return status == 404 ? FETCH_NOT_FOUND : FETCH_FAILED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return FETCH_UNREACHABLE;
	case CURLE_OPERATION_TIMEDOUT:
		return FETCH_TIMEOUT;
	case CURLE_FILESIZE_EXCEEDED:
		return FETCH_TOO_LARGE;
	default:
		return FETCH_FAILED;
	}
}

/* ---- files ---------------------------------------------------------------------------------- */

static enum fetch_reason fetch_from(struct fetcher *f, const struct server *server, const char *id)
{
	char url[FETCH_URL_MAX + 2 * BUILD_ID_BYTES_MAX + 32];
	CURL *handle = f->curl.init();
	long status = 0;
	CURLcode code;

	if (!handle)
		return FETCH_FAILED;
	f->bytes = 0;
	f->too_large = false;
	snprintf(url, sizeof(url), "%s/buildid/%s/debuginfo", server->url, id);
	set_options(f, handle, url);
	code = f->curl.perform(handle);
	f->curl.info(handle, CURLINFO_RESPONSE_CODE, &status);
	f->curl.cleanup(handle);
	return reason_of(f, code, status);
}

/* The answer's reason is the last server's that did not just lack the file. */
static void fetch_file(struct fetcher *f, const char *id, struct fetch_answer *answer)
{
	answer->reason = f->has_curl ? FETCH_NOT_FOUND : FETCH_NO_LIBRARY;
	for (uint32_t i = 0; i < f->servers_len && f->has_curl; i++) {
		struct server *server = &f->servers[i];
		enum fetch_reason reason = FETCH_UNREACHABLE;

		if (server->url[0]) {
			reason = fd_rewrite(f->out, NULL, 0) < 0 ? FETCH_FAILED
								 : fetch_from(f, server, id);
			answer->bytes += f->bytes;
			if (reason == FETCH_UNREACHABLE || reason == FETCH_TIMEOUT ||
				reason == FETCH_TOO_LARGE)
				answer->failed |= 1ULL << i;
		}
		if (reason != FETCH_NOT_FOUND) {
			answer->reason = reason;
			answer->server = i;
		}
		if (reason == FETCH_DONE)
			return;
	}
}

/* ---- a container runtime's API --------------------------------------------------------------- */

#define INQUIRY_BYTES_MAX (4UL << 20)
#define INQUIRY_S 2

/* HTTP/1.0, as nothing of what came since is of use here: the answer ends with the connection.
 * (libcurl would make a connection of its own; 7.88 does so also where it is given one.) */
static int talk(int connection, const char *id, struct buf *answer)
{
	const struct timeval patience = { .tv_sec = INQUIRY_S };
	_cleanup_(buf_done) struct buf question = BUF_INIT;
	int err = fcntl(connection, F_SETFL, 0) < 0 ||
			setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience,
				sizeof(patience)) < 0
		? -errno
		: 0;

	if (err == 0)
		err = buf_printf(&question,
			"GET /containers/%s/json HTTP/1.0\r\nHost: localhost\r\n\r\n", id);
	if (err == 0)
		err = fd_write_all(connection, question.data, question.len);
	return err < 0 ? err : fd_read_all(connection, INQUIRY_BYTES_MAX, answer);
}

/* The body of an answer "HTTP/1.x 200 ...". NULL: it is no such answer. */
static const char *body_of(const struct buf *answer)
{
	const char *status = answer->data ? strchr(answer->data, ' ') : NULL, *end;

	if (!status || strncmp(answer->data, "HTTP/1.", 7) != 0 || strncmp(status, " 200", 4) != 0)
		return NULL;
	end = strstr(answer->data, "\r\n\r\n");
	return end ? end + 4 : NULL;
}

static void inquire(struct fetcher *f, const char *id, int connection, struct fetch_answer *answer)
{
	static const char letters[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-";
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const char *body;

	answer->reason = FETCH_FAILED;
	if (connection < 0 || !*id || id[strspn(id, letters)] != '\0' ||
		talk(connection, id, &text) < 0)
		return;
	answer->bytes = text.len;
	answer->reason = FETCH_NOT_FOUND;
	body = body_of(&text);
	if (!body)
		return;
	if (fd_rewrite(f->out, body, text.len - (size_t)(body - text.data)) == 0)
		answer->reason = FETCH_DONE;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int obey_server(void *ctx, struct orders_call *call)
{
	const struct fetch_order *order = call->order;
	struct fetcher *f = ctx;

	if (f->servers_len < FETCH_SERVERS_MAX)
		memccpy(f->servers[f->servers_len++].url, order->text, '\0', FETCH_URL_MAX - 1);
	return ORDERS_SILENT;
}

static int obey_into(void *ctx, struct orders_call *call)
{
	struct fetcher *f = ctx;

	fd_close(&f->out);
	f->out = TAKE_FD(call->given);
	return ORDERS_SILENT;
}

static int obey_fetch(void *ctx, struct orders_call *call)
{
	struct fetch_answer *answer = call->answer;
	struct fetch_order *order = call->order;
	struct fetcher *f = ctx;

	answer->id = order->id;
	order->text[sizeof(order->text) - 1] = '\0';
	if (order->kind == FETCH_INQUIRY)
		inquire(f, order->text, call->given, answer);
	else
		fetch_file(f, order->text, answer);
	fd_close(&f->out);
	return 0;
}

static const struct orders_row rows[] = {
	[FETCH_SERVER] = { ORDERS_OWNER, obey_server },
	[FETCH_INTO] = { ORDERS_OWNER, obey_into },
	[FETCH_FILE] = { ORDERS_OWNER, obey_fetch },
	[FETCH_INQUIRY] = { ORDERS_OWNER, obey_fetch },
};

int fetcher_main(int socket_fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ };
	struct fetcher f = { .fd = socket_fd, .out = -1 };
	struct orders orders = { .rows = rows,
		.rows_len = ARRAY_SIZE(rows),
		.order_bytes = sizeof(struct fetch_order),
		.answer_bytes = sizeof(struct fetch_answer),
		.ctx = &f };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "stoker-fetcher");
	if (leave_privileges() < 0)
		return WORKER_EXIT_SANDBOX;
	f.has_curl = load_curl(&f.curl);
	orders_serve(&orders, socket_fd);
	/* Libraries' exit handlers may make a call that is denied. */
	_exit(WORKER_EXIT_END);
}
