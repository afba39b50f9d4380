/* SPDX-License-Identifier: Apache-2.0 */
/* http/conn.h - the connections of the process that serves HTTP, and what it knows. One
 * connection is one request: it is read, perhaps waits for the daemon or the store, and is
 * answered; each of these has its time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/args.h"
#include "http/jobs.h"
#include "http/listener.h"
#include "http/metrics.h"
#include "http/mhd.h"
#include "http/proto.h"

#define HTTP_CONNECTIONS_MAX 160

enum http_state {
	HTTP_FREE,
	HTTP_READING,
	HTTP_WAITING,  /* suspended: for what `wait` says */
	HTTP_ANSWERED, /* answer, or file, holds it */
	HTTP_SENDING,
};

enum http_wait {
	HTTP_WAIT_METRICS,
	HTTP_WAIT_HEALTH,
	HTTP_WAIT_CAPTURE,
	HTTP_WAIT_STORE,
};

struct http_conn {
	enum http_state state;
	enum http_wait wait;
	uint64_t id; /* never another one's */
	int fd;
	uint64_t ends_ns; /* CLOCK_MONOTONIC: of its state */
	struct MHD_Connection *connection;
	struct http_args args;
	struct http_answer answer;
	int file;         /* in place of answer.body; -1: none */
	uint64_t retry_s; /* 0: not said */
	bool challenge;   /* says how to prove who one is */
};

struct http_server {
	int daemon_fd, watch_fd;
	uint64_t status_asked_ns; /* the daemon, for those that wait */
	enum listener_reach reach;
	char token[HTTP_TEXT_MAX]; /* "": none is needed */
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct http_jobs *jobs;
	struct http_conn conns[HTTP_CONNECTIONS_MAX];
	uint64_t next_id;
	struct http_counts counts;
};

/* Answers a request of which the head was read: now, or it waits. */
void http_route(
	struct http_server *server, struct http_conn *conn, const char *method, const char *path);
/* A line of text as the answer. */
void http_say(struct http_conn *conn, unsigned int status, const char *text);

/* Does `host`, a Host header, name this very machine by its loopback? NULL is no header. */
bool http_host_is_loopback(const char *host);
/* Does `header`, of Authorization, hold the token? Takes as long whatever it holds. */
bool http_token_fits(const char *token, const char *header);
