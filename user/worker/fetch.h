/* SPDX-License-Identifier: Apache-2.0 */
/* worker/fetch.h - debug files from debuginfod servers, by a process of its own that has no
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

#define FETCH_ARGUMENT "fetcher" /* the hidden subcommand */
#define FETCH_SERVERS_MAX 8
#define FETCH_URL_MAX 1024
/* What one capture may cost its network: files, bytes of one and of all, and the time of one. */
#define FETCH_FILES_MAX 128
#define FETCH_FILE_BYTES_MAX (256UL << 20)
#define FETCH_BYTES_MAX (1UL << 30)
#define FETCH_FILE_MS 20000

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

/* The process; as worker_main. */
int fetcher_main(int socket_fd);

/* What the two say to each other, each message whole. */
/* FETCH_INQUIRY: text is a container's id, and a connection to its runtime goes along. */
enum fetch_kind { FETCH_SERVER, FETCH_FILE, FETCH_INQUIRY };

struct fetch_order {
	uint64_t id;
	uint32_t kind, pad;
	char text[FETCH_URL_MAX]; /* a server's URL, or a build ID in hex */
};

struct fetch_answer { /* with the file's descriptor, where reason is FETCH_DONE */
	uint64_t id, bytes;
	uint32_t reason, server; /* the server by its number, from 0 */
};
