/* SPDX-License-Identifier: Apache-2.0 */
/* http/conn.h - the connections and the state of the process that serves HTTP. A connection has one
 * request: it is read, may wait for the daemon or the store, and is answered. Each of these steps
 * has a time limit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/args.h"
#include "http/jobs.h"
#include "http/listener.h"
#include "http/metrics.h"
#include "http/mhd.h"
#include "http/peer.h"
#include "http/proto.h"
#include "http/tokens.h"

#define HTTP_CONNECTIONS_MAX 160
#define HTTP_BUSY_MAX 96      /* connections that wait or are answered, without health checks */
#define HTTP_PEER_BUSY_MAX 32 /* likewise, of one peer */
#define HTTP_ARGS_MAX 32      /* parameters of a request: there are fewer names */
#define HTTP_URI_BYTES_MAX 8192

enum http_state {
	HTTP_FREE,
	HTTP_READING,
	HTTP_WAITING,  /* suspended; `wait` has the reason */
	HTTP_ANSWERED, /* the answer is in answer or file */
	HTTP_SENDING,
};

enum http_wait {
	HTTP_WAIT_METRICS,
	HTTP_WAIT_ALIVE,
	HTTP_WAIT_READY,
	HTTP_WAIT_CAPTURE,
	HTTP_WAIT_STORE,
};

struct http_conn {
	enum http_state state;
	enum http_wait wait;
	uint64_t id; /* never used again */
	int fd;
	uint64_t ends_ns; /* CLOCK_MONOTONIC: the time limit of its state */
	struct MHD_Connection *connection;
	struct http_args args;
	struct http_answer answer;
	int file;         /* in place of answer.body; -1: none */
	uint64_t retry_s; /* Retry-After; 0: none */
	bool challenge;   /* WWW-Authenticate is sent */
	char session[TOKENS_SESSION_TEXT_MAX]; /* Set-Cookie, with a redirection to the page */
	bool is_head;
	bool too_long;    /* HTTP_ARGS_MAX or HTTP_URI_BYTES_MAX: its parameters were not read */
	bool quick;       /* a health check: it takes no place from others */
	struct peer peer;
};

struct http_server {
	int daemon_fd, watch_fd, diag_fd;
	uint64_t status_asked_ns; /* when the daemon was asked for its status; 0: not asked */
	enum listener_reach reach;
	struct tokens tokens;
	char cookie[24]; /* the name of ours: a browser sends those of all ports of a host */
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct http_jobs *jobs;
	struct http_conn conns[HTTP_CONNECTIONS_MAX];
	uint64_t next_id;
	struct http_counts counts;
};

/* Answers a request after its head was read, or makes it wait. */
void http_route(
	struct http_server *server, struct http_conn *conn, const char *method, const char *path);
/* Answers with a line of text. */
void http_say(struct http_conn *conn, unsigned int status, const char *text);

/* Does a Host header name this machine's loopback? NULL, no header: yes. */
bool http_host_is_loopback(const char *host);
/* The right that a path needs on a listener of this reach; HTTP_RIGHT_NONE: none. */
enum http_right http_right_of(const char *path, enum listener_reach reach);
