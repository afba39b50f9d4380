/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/http_front.h - the daemon's side of HTTP: opens the listener, starts the process that
 * serves (http/server.h), sends it the daemon's status and captures on its order, and replaces it
 * when it is lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "daemon/capture.h"
#include "daemon/config.h"
#include "http/listener.h"

struct http_front_options {
	int listener;                                /* of http_front_listen; the caller's */
	enum listener_reach reach;
	const char *token_file, *metrics_token_file; /* "": those in the store */
	const char *store;
	uint64_t tick_limit_us; /* of captures; 0: the default */
	const char *tables;     /* of captures: folder of tables of language runtimes */
	bool captures;          /* may there be any? For the starter, for good */
	enum config_jit jit;    /* may captures have perf maps made? Likewise */
	const char *idle;       /* why there is no capture; NULL: there may be */
	/* Appends the daemon's status, as JSON. Called a few times a second at most. */
	int (*status)(void *ctx, struct buf *out);
	void *ctx;
	struct log *log;
};

struct http_front_stats {
	uint64_t restarts;
	uint64_t refused; /* invalid orders, orders beyond the budget */
	uint64_t cpu_ns;  /* of all serving processes so far */
	uint64_t rss_bytes;
	struct capture_stats captures;
};

struct http_front;

/* The key of [http] that an error concerns. */
enum http_front_key {
	HTTP_FRONT_TOKEN,
	HTTP_FRONT_METRICS_TOKEN,
};

/* Opens the listener, for this process and those that it starts. A static build cannot serve:
 * -ENOSYS where the configuration asks for it, else a warning, and out->fd is -1. */
int http_front_listen(const char *listen, bool given, struct log *log, struct listener *out,
	struct why *why);

/* Makes the tokens and starts no process. */
int http_front_open(const struct http_front_options *options, struct http_front **out,
	enum http_front_key *key, struct why *why);
/* Starts a starter. Call it before privileges are dropped, while there is one thread, and after
 * processes were forked that must not inherit its sockets. */
int http_front_start(struct http_front *front, struct why *why);
void http_front_free(struct http_front *front);
DEFINE_CLEANUP(struct http_front, http_front_free)

/* The listening socket. Processes that do not serve should close it. */
int http_front_listener(const struct http_front *front);
/* Readable when http_front_poll has something to do; the same for its life. */
int http_front_fd(const struct http_front *front);
/* After the store was written: writes the tokens that could not be written at the start. Logs
 * errors. */
void http_front_save_tokens(struct http_front *front);
/* Call it also when it is due (CLOCK_NEVER_NS: nothing is): the first call starts the process, and
 * later ones replace a lost one. Logs errors. */
void http_front_poll(struct http_front *front);
/* True: the starter is lost, so a process that ends cannot be replaced. */
bool http_front_starter_lost(struct http_front *front);
/* There is no capture from now on. */
void http_front_end_captures(struct http_front *front);
uint64_t http_front_due_ns(const struct http_front *front);
void http_front_stats(const struct http_front *front, struct http_front_stats *out);
