/* SPDX-License-Identifier: Apache-2.0 */
/* files/fetch.h - debug files from debuginfod servers, by processes of their own that have the
 * network, no capability and another user. Only fetch_await waits for one. It can take
 * FETCH_FILE_BYTES_MAX of the disk while it runs; what it leaves there counts, whatever it says.
 * The file is as little trusted as any other: a worker checks whether it belongs to the build ID.
 * The protocol: elfutils, debuginfod(8), "WEBAPI", /buildid/BUILDID/debuginfo. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/reasons.h"
#include "elf/build_id.h"
#include "wire/fetch_proto.h"

/* The limits of one capture; those of one file are in wire/fetch_proto.h. */
#define FETCH_FILES_MAX 128
#define FETCH_BYTES_MAX (1UL << 30)

struct fetch;
struct starter;

/* fd: the file, which is the callee's; -1: none, and reason says why. url: the last one that was
 * asked. Must not call the fetch. */
typedef void (*fetch_fn)(void *ctx, uint64_t id, int fd, enum fetch_reason reason, const char *url);

struct fetch_stats {
	uint64_t asked, fetched, bytes;
	uint64_t failed[FETCH_REASONS_LEN];
};

/* urls: separated by blanks. starter: its duties have the fetcher. -EINVAL: there is no valid
 * URL. */
int fetch_open(const char *urls, struct starter *starter, struct fetch **out, struct why *why);
/* To be called before the first fetch_ask. */
void fetch_listen(struct fetch *fetch, fetch_fn fn, void *ctx);
void fetch_free(struct fetch *fetch);
/* Readable when fetch_poll has something to do. */
int fetch_fd(const struct fetch *fetch);
/* The debug file of a build; fn is called once, from a later fetch_poll. */
int fetch_ask(struct fetch *fetch, uint64_t id, const struct build_id *build_id);
/* Does not wait. Call it also when it is due (CLOCK_NEVER_NS: nothing is). NULL: does nothing. */
void fetch_poll(struct fetch *fetch);
uint64_t fetch_due_ns(const struct fetch *fetch);
/* Waits for the files that were asked for, until then (CLOCK_MONOTONIC); counts those that are
 * late. */
void fetch_await(struct fetch *fetch, uint64_t until_ns);
void fetch_stats(const struct fetch *fetch, struct fetch_stats *out);
