/* SPDX-License-Identifier: Apache-2.0 */
/* files/languages.h - describes to BPF the runtimes that workers have found: by a built-in table,
 * by what the runtime says of itself, or by a table in a file, once a process has shown that it is
 * right. Others show native frames alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/language_files.h"
#include "proc/opener.h"

struct languages;
struct object;
struct objects;
struct opener_call;
struct publish;
struct worker_client;
struct worker_rows;

/* How the frames of an object's runtime are described. */
enum language_state {
	LANGUAGE_NONE,    /* no runtime */
	LANGUAGE_KNOWN,   /* described, by what is built in or by itself */
	LANGUAGE_UNKNOWN, /* no table is for this runtime */
	LANGUAGE_TRIED,   /* a file has one, which has not yet been checked */
	LANGUAGE_CHECKED, /* described by that */
	LANGUAGE_WRONG,   /* not described: processes do not look as the file's table says */
};

/* The trial of a file's table on processes that map the object. */
struct language_trial {
	const struct language_file *file;
	struct language language;
	uint64_t due_ns;        /* of the next look; CLOCK_MONOTONIC */
	uint64_t pause_ns;      /* before the next process is sought */
	uint32_t looks, failed; /* at this process; processes that looked wrong */
	bool sought;            /* another process: BPF is to meet the file again */
};

struct languages_stats {
	uint64_t files_used, files_refused;
	uint64_t unknown, tried, checked, wrong; /* runtimes */
};

/* path: as language_files_load(). Waits for a worker. 0 or -ENOMEM. */
int languages_new(const char *path, struct worker_client *worker, struct languages **out);
void languages_free(struct languages *languages);
/* Where the descriptions go, and who looks into processes. */
void languages_use(
	struct languages *languages, struct publish *publish, struct opener_call *call);
const struct language_files *languages_files(const struct languages *languages);

/* A worker has read the object's file. */
void languages_describe(
	struct languages *languages, struct object *object, const struct worker_rows *rows);
/* Goes on with trials that are due. True: publish_settle may have work. */
bool languages_run(struct languages *languages, struct objects *objects, uint64_t now_ns);
/* CLOCK_NEVER_NS: there are none. */
uint64_t languages_due_ns(const struct languages *languages);
void languages_stats(const struct languages *languages, struct languages_stats *out);

/* Where a process maps a file. */
struct languages_place {
	struct opener_call *call;
	struct opener_process process;
	uint64_t base; /* where the file's offset 0 is or would be */
};

/* How the frames of the runtime that is in the file are walked and named in this process, in words;
 * if by a file's table, it is checked. False: there is no runtime. */
bool languages_note(const struct worker_rows *rows, const struct language_files *files,
	const struct languages_place *place, char *out, size_t size);
