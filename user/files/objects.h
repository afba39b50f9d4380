/* SPDX-License-Identifier: Apache-2.0 */
/* files/objects.h - the mapped files that BPF has met, each once for all processes.
 * A file is opened at once, while a process that maps it lives, and its separate debug files are
 * searched then; only workers read their contents. Debug files from the root of a process name
 * frames of processes with that root only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/reasons.h"
#include "files/object.h"
#include "client/client.h"
#include "files/fetch.h"

struct objects_stats {
	uint64_t met;            /* total, also those that were forgotten */
	uint64_t forgotten;      /* dropped ones */
	uint64_t evicted;        /* forgotten ones whose place went to another account */
	uint64_t late;           /* files and pages that were refused as their account took long */
	uint64_t eh_frame_bytes; /* compiled */
	uint64_t table_ns;       /* CPU time of the worker for them */
	uint64_t debug_found, debug_used;
	uint64_t debug_refused[DEBUG_REASONS_LEN];
	struct fetch_stats fetch;
	uint64_t failed[OBJECT_REASONS_LEN];
	uint64_t debug_unread[FILE_REASONS_LEN]; /* existing files that could not be opened */
};

struct file_time;
struct languages;
struct mappings_library;
struct objects;
struct publish;
struct sampler;

struct objects_options {
	struct sampler *sampler;       /* knows whether an opened file is the mapped one */
	struct publish *publish;       /* receives rows */
	struct languages *languages;   /* receives runtimes */
	struct worker_client *worker;  /* compiles them; its on_rows calls objects_on_rows */
	bool lines;                    /* lines will be requested, and may need further files */
	const char *const *debug_dirs; /* replacements of /usr/lib/debug */
	size_t debug_dirs_len;
	struct fetch *fetch; /* NULL: debug files are not fetched */
};

/* -ENOENT, -ENOTDIR, -EACCES, ...: a debug dir failed, why names it. */
int objects_new(const struct objects_options *options, struct objects **out, struct why *why);
void objects_free(struct objects *objects);
/* Opens the file, which a task of this account maps, and requests its rows. If there is no place,
 * files of the account that has most make room for those of the others. */
int objects_add(struct objects *objects, const struct event_object *event, uint64_t account);
/* The latest file whose file system did not answer, once. NULL: none since the last call. */
const struct object *objects_hung(struct objects *objects);
/* The time that files took, by account. */
struct file_time *objects_time(struct objects *objects);
/* Requests the object's rows again. */
int objects_compile(struct objects *objects, uint32_t id);
/* Marks that a deferred sample of this account waits for the object's rows. */
void objects_want(struct objects *objects, uint32_t id, uint64_t account);
void objects_on_rows(struct objects *objects, const struct worker_rows *rows);
/* When little room is left, drops the least recently used files. They can still be found, without
 * descriptors, until objects_bury. True: repeat it a second later. */
bool objects_trim(struct objects *objects, uint32_t second);
/* Are there files without a descriptor, because few may be open at a time? They are tried again
 * when others were dropped. */
bool objects_lack_descriptors(const struct objects *objects);
/* Call it when nothing refers to dropped objects and no names are pending. Also drops files that no
 * tick met for minutes, removed ones after half a minute: files of removed containers must not stay
 * open. */
void objects_bury(struct objects *objects);
/* These raw frames were sampled: debug files of their objects are fetched, if they need one and
 * have none. */
void objects_sampled(struct objects *objects, const uint64_t *frames, size_t len);
/* Waits a short time for running fetches. */
void objects_await_fetched(struct objects *objects);
/* A task of this account was met, whose process has this root. */
bool objects_meet_view(struct objects *objects, const struct event_task *event, uint64_t account);
/* The number of a root that was met (files/views.h), or 0. */
uint32_t objects_view(struct objects *objects, const struct file_view *view);
/* Do its names depend on the root of the process? Then frames of processes with this root are named
 * with a set of debug files (files/debug_search.h); 0: with those for everybody. */
bool objects_by_view(const struct objects *objects, const struct object *object);
uint32_t objects_set(struct objects *objects, struct object *object, uint32_t view);
/* Opens a file that the object's debugging information refers to: a descriptor, or -ENOENT. */
int objects_open_part(struct objects *objects, const struct object *object, uint32_t set,
	const struct debug_part *part);
/* The id of the object with the names of a set, for the client of workers. */
static inline uint64_t objects_names_id(const struct object *object, uint32_t set)
{
	return (uint64_t)set << 32 | object->id;
}
/* From 0 on; NULL: no more. */
struct object *objects_at(const struct objects *objects, size_t i);
/* The facts of the HotSpot in this file. NULL: none is known. */
const struct hotspot_facts *objects_hotspot(
	const struct objects *objects, const struct object_key *key);
/* NULL: no such object. */
struct object *objects_find(struct objects *objects, uint32_t id);
void objects_stats(const struct objects *objects, struct objects_stats *out);
