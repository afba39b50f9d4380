/* SPDX-License-Identifier: Apache-2.0 */
/* http/proto.h - messages between the daemon and the process that serves HTTP: all of one size,
 * with at most one descriptor each, over a socket pair that keeps their boundaries. The daemon
 * checks the other side's messages as if an attacker had sent them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_ARGUMENT "http" /* the hidden subcommand */
#define HTTP_TEXT_MAX 512
#define HTTP_EVENT_MAX 64

#define HTTP_SECONDS_MAX 60
#define HTTP_HZ_MAX 1000
#define HTTP_CAPTURES_AT_ONCE 2
#define HTTP_CAPTURES_A_MINUTE 12

enum http_kind {
	/* from the daemon */
	HTTP_LISTEN,   /* fd: the listener; reach; text: the token, or "" */
	HTTP_STORE,    /* fd: the store's directory; text: the metrics' token; the start's last */
	HTTP_STATUS,   /* fd: JSON, in memory */
	HTTP_REFUSED,  /* id; err: -EBUSY or -EAGAIN with retry_ns, or another; text: why */
	HTTP_CAPTURED, /* id; err and text as of struct capture_result; fd: the profile */
	/* to the daemon */
	HTTP_ASK_STATUS,
	HTTP_CAPTURE, /* id, target, text: its name; hz, seconds, format, jit, event */
	HTTP_CANCEL,  /* id */
};

enum http_target {
	HTTP_ALL,
	HTTP_CONTAINER,
	HTTP_POD,
	HTTP_UNIT,
	HTTP_CGROUP,
	HTTP_TARGETS,
};

struct http_message {
	uint32_t kind;
	int32_t err;
	uint64_t id;
	uint64_t retry_ns;
	uint32_t target, reach;
	uint32_t hz, seconds;
	uint32_t format; /* a place in http_formats */
	uint32_t jit;    /* 1: runtimes are made to write perf maps meanwhile */
	char text[HTTP_TEXT_MAX];
	char event[HTTP_EVENT_MAX]; /* of `stoker record -e`; "": the default */
};

/* May a request name such events? Letters, digits and `_.,=/:-`, HTTP_EVENT_MAX - 1 at most. */
bool http_event_is_valid(const char *event);
/* Do the fields of a capture have allowed values? Its texts end with a NUL. */
bool http_capture_is_valid(const struct http_message *message);

/* Formats of profiles. */
struct http_format {
	const char *name; /* of `stoker record -f` */
	const char *type;
	const char *ending;
	bool shown; /* a browser shows it; else the browser saves it */
};

#define HTTP_FORMATS_LEN 9
extern const struct http_format http_formats[HTTP_FORMATS_LEN];
/* The index of a format; -1: no such format. */
int http_format_find(const char *name);
