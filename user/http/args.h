/* SPDX-License-Identifier: Apache-2.0 */
/* http/args.h - checks the arguments of a request, one name and value at a time, as the HTTP
 * library decodes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "http/proto.h"

#define HTTP_VALUE_MAX 256
#define HTTP_MATCHES 6
#define HTTP_TOP_MAX 100000
#define HTTP_CELLS_MAX 1000

/* Arguments that a request may have. */
enum http_arg {
	HTTP_ARG_SECONDS = 1 << 0,
	HTTP_ARG_HZ = 1 << 1,
	HTTP_ARG_TARGET = 1 << 2, /* container, pod, unit, cgroup: one of them */
	HTTP_ARG_FORMAT = 1 << 3,
	HTTP_ARG_SPAN = 1 << 4,  /* since, until */
	HTTP_ARG_MATCH = 1 << 5, /* container, pod, namespace, image, unit, comm: each once */
	HTTP_ARG_FUNCTION = 1 << 6,
	HTTP_ARG_TOP = 1 << 7,
	HTTP_ARG_TREND = 1 << 8,
	HTTP_ARG_CELLS = 1 << 9,
	HTTP_ARG_TICKET = 1 << 10,
	HTTP_ARG_JIT = 1 << 11,
	HTTP_ARG_EVENT = 1 << 12, /* e: of a capture its sources, of a query a kind of value */
};

struct http_match {
	const char *key;
	char value[HTTP_VALUE_MAX];
};

struct http_args {
	uint32_t takes; /* enum http_arg */
	uint64_t now_ns;
	uint32_t seconds, hz;
	uint32_t target; /* enum http_target */
	char target_name[HTTP_VALUE_MAX];
	int format;                  /* in http_formats; -1: not given */
	uint64_t since_ns, until_ns; /* CLOCK_REALTIME */
	struct http_match matches[HTTP_MATCHES];
	size_t matches_len;
	char function[HTTP_VALUE_MAX]; /* a regular expression; "": any */
	uint32_t top;                  /* 0: not given */
	bool trend;
	uint32_t cells, jit;
	char event[HTTP_EVENT_MAX]; /* "": not given */
	char ticket[HTTP_VALUE_MAX];
	uint64_t seen; /* names that were given, as bits */
};

void http_args_init(struct http_args *args, uint32_t takes, uint64_t now_ns);
/* value may be NULL, which is "". -EINVAL with why. */
int http_args_take(
	struct http_args *args, const char *name, const char *value, size_t len, struct why *why);
/* After the last argument: -EINVAL with why for arguments that exclude each other. */
int http_args_check(const struct http_args *args, struct why *why);
