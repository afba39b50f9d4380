/* SPDX-License-Identifier: Apache-2.0 */
/* client/fetch.h - debug files from debuginfod servers, by a process of its own that has no
 * capability and another user: it has the network, and nothing else. Nobody waits for it unless he
 * says so. What comes is a stranger's file like any other: a worker looks whether it belongs.
 * The protocol: elfutils, debuginfod(8), "WEBAPI", /buildid/BUILDID/debuginfo. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/reasons.h"
#include "elf/build_id.h"
#include "wire/fetch_proto.h"

/* What one capture may cost its network, beside the limits of one file in wire/fetch_proto.h. */
#define FETCH_FILES_MAX 128
#define FETCH_BYTES_MAX (1UL << 30)

struct fetch;

/* fd: the file, which is the callee's; -1 where there is none, which reason tells. url: where it is
 * from, or was looked for last. Must not call the fetch. */
typedef void (*fetch_fn)(void *ctx, uint64_t id, int fd, enum fetch_reason reason, const char *url);

struct fetch_stats {
	uint64_t asked, fetched, bytes;
	uint64_t failed[FETCH_REASONS_LEN];
};

/* urls: separated by blanks. Starts the process: to be called before there is anything in this one
 * to be kept from it. -EINVAL: none of them is one. */
int fetch_open(const char *urls, struct fetch **out, struct why *why);
/* To be called before the first fetch_ask. */
void fetch_listen(struct fetch *fetch, fetch_fn fn, void *ctx);
void fetch_free(struct fetch *fetch);
/* Readable when fetch_poll has something to do. */
int fetch_fd(const struct fetch *fetch);
/* The debug file of a build; fn is called once, from a later fetch_poll. */
int fetch_ask(struct fetch *fetch, uint64_t id, const struct build_id *build_id);
/* Does not wait. NULL: nothing is done. */
void fetch_poll(struct fetch *fetch);
/* Waits for what was asked for, until then (CLOCK_MONOTONIC); what is late is counted as such. */
void fetch_await(struct fetch *fetch, uint64_t until_ns);
void fetch_stats(const struct fetch *fetch, struct fetch_stats *out);
