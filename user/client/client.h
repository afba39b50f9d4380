/* SPDX-License-Identifier: Apache-2.0 */
/* client/client.h - rows and names, from workers that may be lost at any time.
 * There are two: one compiles rows, while nobody waits; one gives names, while the agent does. All
 * that the caller has to keep are the descriptors: what a worker knew when it was lost is loaded
 * again as it is asked for. A file or map over which a worker was lost is refused for a time that
 * grows with each loss. Ids are the caller's, less than 2^63; an id is one file for ever, or is
 * dropped before it becomes another. Times are CLOCK_MONOTONIC, in ns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpu_clock.h"
#include "base/err.h"
#include "elf/build_id.h"
#include "dwarf/debug_file.h"
#include "unwind/rows.h"
#include "wire/name.h"
#include "wire/status.h"

#define WORKER_QUEUE_MAX 8192 /* files that wait for their rows */
#define WORKER_DEBUG_FILES_MAX 8

struct worker_client;

/* What is in a file, but for its symbols. */
struct worker_rows {
	uint64_t id;
	enum worker_status status; /* not WORKER_OK: the file is of no use, or not for now */
	enum worker_status rows_status;
	const struct unwind_rows_view *rows; /* with rows_status WORKER_OK, else NULL; checked */
	size_t rows_bytes;
	struct build_id build_id; /* len 0: none */
	struct debug_link link;   /* name "": none */
	uint32_t contents;        /* WORKER_HAS_* */
	uint64_t eh_frame_bytes;  /* compiled */
	uint64_t ns;              /* that it took */
};

/* The result and all in it are good until it returns. */
typedef void (*worker_rows_fn)(void *ctx, const struct worker_rows *rows);

struct worker_client_options {
	const char *argument; /* which the program is started with; NULL: WORKER_ARGUMENT */
	uint64_t hang_ns;     /* a worker is lost that takes longer over a request; 0: 20 s */
	uint64_t refuse_ns;   /* the first refusal; each next is four times longer; 0: 10 s */
	uint64_t rss_max_kb;  /* a worker with more between requests is ended; 0: 768 MiB */
	int clocks_fd;        /* of starter_invite, where clocks are asked for; consumed; 0: none */
};

/* Starts both workers and sees them in their sandboxes: to be called before there is anything in
 * the process to be kept from them. */
int worker_client_open(
	const struct worker_client_options *options, struct worker_client **out, struct why *why);
void worker_client_free(struct worker_client *client);
/* To be called before the first worker_client_rows. */
void worker_client_listen(struct worker_client *client, worker_rows_fn on_rows, void *ctx);

/* Readable when worker_client_poll has something to do; the same for the client's life. */
int worker_client_fd(const struct worker_client *client);
/* As cpu_clock_open, by what starts the workers. */
int worker_client_clock(struct worker_client *client, const struct cpu_clock *clock, int *fd);
/* Calls on_rows for what is done, goes on with the queue, ends workers that hang or have grown.
 * Does not wait. Call it also a few times a second. */
int worker_client_poll(struct worker_client *client);

/* Asks for a file's rows: on_rows is called once for each call, from a later poll. fd is borrowed
 * until then, or until the drop. -ENOSPC: the queue is full. */
int worker_client_rows(struct worker_client *client, uint64_t id, int fd);
/* Something waits for these rows, if they are still asked for: each time is another reason to make
 * them before others. */
void worker_client_want(struct worker_client *client, uint64_t id);
/* Files whose rows were asked for and have not come. */
size_t worker_client_pending(const struct worker_client *client);

struct worker_object {
	uint64_t id;
	int fd;                                /* the mapped file; borrowed for the call */
	int debug_fds[WORKER_DEBUG_FILES_MAX]; /* files that may be its debug file, best first */
	size_t debug_fds_len;                  /* looked at when its symbols are loaded */
};

/* What a process's JIT writes, as it is now: may be other files than the last time. */
struct worker_map {
	uint64_t id;    /* of other numbers than objects */
	int fd;         /* the perf map; -1: there is none */
	int dump_fd;    /* the jitdump; -1: there is none */
	uint64_t at_ns; /* what was there then, as far as times are told; UINT64_MAX: at last */
};

struct worker_map_status {
	enum worker_status status; /* WORKER_OK: every address was looked up */
	enum worker_status dump;   /* of the jitdump alone; WORKER_OK also where there is none */
};

/* About an object whose names were asked for. */
struct worker_symbols {
	enum worker_status status; /* WORKER_OK: every address was looked up */
	size_t symbols;            /* that it has in all */
	uint32_t sources;          /* of those, as bits: 1 << enum elf_sym_source */
	int debug_used;            /* index in debug_fds; -1 none */
	enum worker_debug debug[WORKER_DEBUG_FILES_MAX];
};

/* Both wait. 0 also where *out says why there are no names, or not all; with WORKER_LATE,
 * WORKER_REFUSED and WORKER_DOWN it may be asked again later. -ENOMEM; fn's error. */
int worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out);
int worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out);

/* The caller is done with it: waiting rows are not told of, symbols or map are forgotten. */
void worker_client_drop(struct worker_client *client, uint64_t id);
void worker_client_drop_map(struct worker_client *client, uint64_t id);
