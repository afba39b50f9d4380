/* SPDX-License-Identifier: Apache-2.0 */
/* client/client.h - rows and names, from workers that may be lost at any time.
 * There are two workers: one compiles rows in the background; the other gives names while the agent
 * waits. While there are large files, a third one compiles their rows. The caller only keeps
 * descriptors: after a loss everything is loaded again on demand. A file or map that cost a worker
 * is refused for a time that grows with each loss. Ids are the caller's, less than 2^63; an id is
 * of one file, and dropped before it is another's. Times are CLOCK_MONOTONIC, in ns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpu_clock.h"
#include "base/err.h"
#include "client/worker_rows.h"
#include "elf/build_id.h"
#include "dwarf/debug_file.h"
#include "unwind/rows.h"
#include "wire/name.h"
#include "wire/status.h"

#define WORKER_QUEUE_MAX 8192 /* limit of files that wait for their rows */
#define WORKER_DEBUG_FILES_MAX 8
struct opener_call;
struct openers;
struct starter;
struct worker_client;

struct worker_client_options {
	const char *argument; /* argv[1] of the worker; NULL: WORKER_ARGUMENT */
	uint64_t hang_ns;     /* limit of time for a request, else the worker is lost; 0: 20 s */
	uint64_t refuse_ns;   /* first refusal, as client/blame.h says; then times 4; 0: 10 s */
	uint64_t rss_max_kb;  /* a worker with more, or that wrote more, is restarted; 0: 768 MiB */
	uint64_t (*account)(pid_t process); /* as of struct hung */
	bool fetches;         /* fetchers may be started, too */
	int clocks_fd;        /* a guest's, to open clocks; consumed; 0: none */
};

/* Waits for two workers' sandboxes. Call it while we have nothing that they must not inherit. */
int worker_client_open(
	const struct worker_client_options *options, struct worker_client **out, struct why *why);
void worker_client_free(struct worker_client *client);
/* Before the first worker_client_rows. */
void worker_client_listen(struct worker_client *client, worker_rows_fn on_rows, void *ctx);

/* The openers; they are polled with the workers, and due with them. */
struct openers *worker_client_openers(struct worker_client *client);
struct opener_call *worker_client_call(struct worker_client *client);
struct starter *worker_client_starter(struct worker_client *client);
int worker_client_fd(const struct worker_client *client); /* when worker_client_poll has work */
/* Like cpu_clock_open, done by the starter. */
int worker_client_clock(struct worker_client *client, const struct cpu_clock *clock, int *fd);
bool worker_client_starter_lost(const struct worker_client *client); /* at the latest poll */
/* Calls on_rows for finished files, continues the queue, ends workers that hang or are too large.
 * Does not wait. Call it also when it is due (CLOCK_NEVER_NS: nothing is). */
int worker_client_poll(struct worker_client *client);
uint64_t worker_client_due_ns(const struct worker_client *client);

/* Requests a file's rows: each call leads to one on_rows, from a later poll; if its status is not
 * WORKER_OK it is for all calls that wait. fd is borrowed until then, or until the drop. -ENOSPC:
 * the queue is full. _table: all rows, for a file whose index is wrong. */
int worker_client_rows(struct worker_client *client, uint64_t id, int fd);
int worker_client_table(struct worker_client *client, uint64_t id, int fd);
/* Requests a page of a file's rows. It comes with others, or with WORKER_WRONG_INDEX. If the file
 * was not written at written_ns last, it is WORKER_UNREADABLE; 0: any time. Otherwise as those. */
int worker_client_page(struct worker_client *client, uint64_t id, int fd, uint64_t written_ns,
	uint32_t number, uint64_t account);
/* Sends the next request for rows now, if its worker is idle. */
void worker_client_kick(struct worker_client *client);
/* Raises the priority of these rows, if they are queued, by the number of this account's samples
 * that wait. Files of accounts that had much of the worker's time come last. 0: unknown. */
void worker_client_want(
	struct worker_client *client, uint64_t id, uint32_t samples, uint64_t account);
size_t worker_client_pending(const struct worker_client *client); /* in opening or row queues */

struct worker_object {
	uint64_t id;
	int fd;                                /* the mapped file; borrowed for the call */
	int debug_fds[WORKER_DEBUG_FILES_MAX]; /* candidates for its debug file, best first */
	size_t debug_fds_len;                  /* used when its symbols are loaded */
	uint64_t written_ns;                   /* mtime of the file that was mapped; 0: any */
};

/* The current files of a process's JIT; they may differ from the last call's. */
struct worker_map {
	uint64_t id;     /* a number space separate from objects */
	int fd, dump_fd; /* the perf map and the jitdump; -1: none */
	uint64_t at_ns;  /* time of the code, if the file has times; UINT64_MAX: latest */
	bool unread;     /* names of what was read before; the files are not read on */
};

struct worker_map_status {
	enum worker_status status; /* WORKER_OK: every address was looked up */
	enum worker_status dump;   /* of the jitdump alone; WORKER_OK also without one */
	uint64_t took_ns;          /* CPU time of the worker */
};

struct worker_symbols {
	enum worker_status status; /* WORKER_OK: every address was looked up */
	size_t symbols;            /* total */
	uint32_t sources;          /* 1 << enum elf_sym_source, of the symbols */
	int debug_used;            /* index in debug_fds; -1: none */
	enum worker_debug debug[WORKER_DEBUG_FILES_MAX];
};

/* Both wait. 0 even if some or all names are missing, see *out; after WORKER_LATE, WORKER_REFUSED
 * and WORKER_DOWN a later query may succeed. -ENOMEM; fn's error. */
int worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out);
int worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out);

/* Removes an id: its queued rows are never reported, its symbols or map are dropped. */
void worker_client_drop(struct worker_client *client, uint64_t id);
/* Its symbols are loaded anew by the next query: it has other debug files now. */
void worker_client_drop_names(struct worker_client *client, uint64_t id);
void worker_client_drop_map(struct worker_client *client, uint64_t id);
