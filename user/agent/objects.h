/* SPDX-License-Identifier: Apache-2.0 */
/* agent/objects.h - the mapped files that BPF has met, each once for all processes.
 * A file is opened at once, while the process that maps it lives, and its separate debug files are
 * looked for then; what is in them is read by the workers alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/reasons.h"
#include "agent/object.h"
#include "client/client.h"
#include "client/fetch.h"

struct objects_stats {
	uint64_t known;          /* met so far */
	uint64_t forgotten;      /* of these */
	uint64_t eh_frame_bytes; /* compiled */
	uint64_t table_ns;       /* spent on it, in the worker */
	uint64_t debug_found, debug_used;
	uint64_t debug_refused[DEBUG_REASONS_LEN];
	struct fetch_stats fetch;
	uint64_t failed[OBJECT_REASONS_LEN];
	uint64_t debug_unread[FILE_REASONS_LEN]; /* that are there and cannot be opened */
};

struct objects;
struct publish;

struct objects_options {
	struct publish *publish;       /* where rows go */
	struct worker_client *worker;  /* who compiles them; its on_rows goes to objects_on_rows */
	bool lines;                    /* lines will be asked for: parts may be wanted */
	const char *const *debug_dirs; /* that stand for /usr/lib/debug, too; looked at last */
	size_t debug_dirs_len;
	struct fetch *fetch; /* NULL: debug files are not fetched */
};

/* -ENOENT, -ENOTDIR, -EACCES, ...: of a debug dir, which why names. */
int objects_new(const struct objects_options *options, struct objects **out, struct why *why);
void objects_free(struct objects *objects);
/* Opens the file and asks for its rows. */
int objects_add(struct objects *objects, const struct event_object *event);
/* Asks for the object's rows again. */
int objects_compile(struct objects *objects, uint32_t id);
/* Something waits for the object's rows. */
void objects_want(struct objects *objects, uint32_t id);
void objects_on_rows(struct objects *objects, const struct worker_rows *rows);
/* When there is little room for more files, forgets those that have not been used for longest. They
 * can still be found, without descriptors, until objects_bury. */
void objects_trim(struct objects *objects, uint32_t second);
/* Once nothing refers to forgotten objects any more, and nothing waits for names. Then forgets
 * files that no tick met for minutes: those of containers that are gone are not to be held open. */
void objects_bury(struct objects *objects);
/* These raw frames were sampled: the debug files of their objects are fetched, where they need one
 * and have none. */
void objects_sampled(struct objects *objects, const uint64_t *frames, size_t len);
/* Waits for what is being fetched, but not long. */
void objects_await_fetched(struct objects *objects);
/* Opens a file that the object's debugging information refers to: a descriptor, or -ENOENT. */
int objects_open_part(
	struct objects *objects, const struct object *object, const struct debug_part *part);
/* From 0 on; NULL: no more. */
struct object *objects_at(const struct objects *objects, size_t i);
/* NULL: no such object. */
struct object *objects_find(struct objects *objects, uint32_t id);
void objects_stats(const struct objects *objects, struct objects_stats *out);
