/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h - a directory of segments. One process writes, any number read.
 *     20261121T094000.000Z-60s.folded.zst     a segment: when it began (UTC), how long it was
 *     index                                   facts about each; made anew when it is lost
 *     damaged/                                files that only look like segments
 * A segment is written under a temporary name, synced and renamed; after that it never changes. A
 * segment that replaces others names them, so after a crash before their removal nothing is counted
 * twice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "store/name.h"
#include "store/segment.h"

/* Three weeks of minutes. Above it the oldest are removed. */
#define STORE_SEGMENTS_MAX 32768
#define STORE_BYTES_MAX (1U << 30) /* of a segment */

/* The part of a group in a segment. */
struct store_group {
	uint64_t samples;
	uint32_t name;                  /* store_text() */
	uint32_t at, bytes, text_bytes; /* as of segment_group */
	uint32_t kind;                  /* likewise: an index in the entry's kinds + 1 */
};

/* A kind of value beside CPU samples, as of segment_kind. */
struct store_kind {
	uint64_t period_ns;
	uint32_t name, unit; /* store_text() */
};

struct store_entry {
	char name[STORE_NAME_MAX];
	uint64_t id;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t samples;
	uint64_t bytes;
	uint32_t hz;
	uint32_t at;     /* where the first group is in the file */
	uint32_t by;     /* store_text() */
	uint32_t groups; /* index of the first; a store that writes has none in memory */
	uint32_t groups_len;
	uint32_t kinds, kinds_len; /* likewise */
	uint32_t sources; /* likewise: ids of the segments that it replaces */
	uint32_t sources_len;
};

struct store;

enum store_mode {
	STORE_READ,
	STORE_WRITE, /* one process; makes the directory, repairs it after a crash */
};

/* Damage that was found; names are for a log line. */
struct store_report {
	uint32_t damaged;  /* set aside (STORE_WRITE) or skipped */
	uint32_t beyond;   /* older than the newest STORE_SEGMENTS_MAX: removed or skipped */
	uint32_t leftover; /* files of an unfinished write: removed (STORE_WRITE) */
	uint32_t unread;   /* skipped: permission denied */
	uint32_t stale;    /* sources of an existing segment: removed (STORE_WRITE) */
	char last[STORE_NAME_MAX];
	struct why why; /* of the last file that was damaged or unread */
};

/* dir: the folder, opened, borrowed for the call; AT_FDCWD: path is opened. path: names it in
 * messages. -EBUSY: another process writes there. On success *out is the caller's. */
int store_open(int dir, const char *path, enum store_mode mode, struct store **out,
	struct store_report *report, struct why *why);
/* Does a process write there now? The lock is its, whatever is the matter with the store. */
bool store_is_written(const char *path);
void store_free(struct store *store);
DEFINE_CLEANUP(struct store, store_free)

/* By start, oldest first. Good until the next put, drop or refresh. */
size_t store_len(const struct store *store);
const struct store_entry *store_entry(const struct store *store, size_t i);
const struct store_group *store_group(
	const struct store *store, const struct store_entry *entry, size_t i);
struct segment_kind store_kind(const struct store *s, const struct store_entry *entry, size_t i);
const char *store_text(const struct store *store, uint32_t id);
uint64_t store_bytes(const struct store *store);

/* Reads the directory again. */
int store_refresh(struct store *store, struct store_report *report, struct why *why);

enum store_outcome {
	STORE_GONE = 1, /* the directory was removed: open the store again */
};

/* Writes a segment (the bytes of segment_write) and flushes it to the disk. 0, or an enum
 * store_outcome, or -ENOSPC and the like; after the latter two the store is as it was, and why has
 * the reason. */
int store_put(struct store *store, struct bytes bytes, struct why *why);
/* store_drop removes segment i; store_set_aside moves it into damaged/. */
int store_drop(struct store *store, size_t i);
int store_set_aside(struct store *store, size_t i);

/* Opens an entry's file to read groups: a descriptor, or -ENOENT: it was removed meanwhile. */
int store_open_file(const struct store *store, const struct store_entry *entry);

/* A segment in memory and its file's bytes. */
struct store_file {
	struct buf bytes;
	struct segment *segment;
};

/* -ENOENT: it was removed meanwhile. *out is untouched on failure. */
int store_load(const struct store *store, const struct store_entry *entry, struct store_file *out,
	struct why *why);
void store_file_done(struct store_file *file);
