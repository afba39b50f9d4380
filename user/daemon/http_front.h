/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_front.h - the daemon's side of HTTP: it opens the listener while it may, starts the
 * process that serves (http/server.h), gives it the daemon's status and captures that it
 * asks for, and starts another when it is lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "daemon/capture.h"

struct http_front_options {
	const char *listen;     /* of the configuration */
	bool listen_given;      /* and not the default */
	const char *token_file; /* "": none */
	const char *store;
	/* Appends the daemon's status, as JSON. Called a few times a second at most. */
	int (*status)(void *ctx, struct buf *out);
	void *ctx;
	struct log *log;
};

struct http_front_stats {
	uint64_t restarts;
	uint64_t refused; /* messages that were none, or too many */
	uint64_t cpu_ns;  /* of those that were lost too */
	uint64_t rss_bytes;
	struct capture_stats captures;
};

struct http_front;

/* Which key of [http] an error is about. */
enum http_front_key { HTTP_FRONT_LISTEN, HTTP_FRONT_TOKEN };

/* Opens the listener, and starts nothing yet. A static build cannot serve: -ENOSYS where the
 * configuration says that it is to, else a warning, and *out is NULL. */
int http_front_open(const struct http_front_options *options, struct http_front **out,
	enum http_front_key *key, struct why *why);
/* Before privileges are given up, while there is one thread, and after others were forked that are
 * not to have its sockets: starts a process that can start others. */
int http_front_start(struct http_front *front, struct why *why);
void http_front_free(struct http_front *front);
DEFINE_CLEANUP(struct http_front, http_front_free)

/* The socket that is listened on, which no process should keep that does not serve. */
int http_front_listener(const struct http_front *front);
/* Readable when http_front_poll has something to do; the same for its life. */
int http_front_fd(const struct http_front *front);
/* Call it also a few times a second: it starts the process at the first, and again when it is time
 * to. What goes wrong is logged. */
void http_front_poll(struct http_front *front);
void http_front_stats(const struct http_front *front, struct http_front_stats *out);
