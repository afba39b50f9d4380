/* SPDX-License-Identifier: Apache-2.0 */
/* files/debug_files.h - opens the candidates for a file's separate debug file. A worker decides
 * whether one belongs to the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/reasons.h"
#include "base/err.h"
#include "dwarf/debug_file.h"
#include "dwarf/debug_part.h"

#define DEBUG_FILES_MAX 8
#define DEBUG_DIRS_MAX 16

struct debug_files {
	int fds[DEBUG_FILES_MAX]; /* best first, without duplicates */
	dev_t devs[DEBUG_FILES_MAX];
	ino_t inos[DEBUG_FILES_MAX];
	char *paths[DEBUG_FILES_MAX];   /* relative to their roots; NULL: no memory */
	uint8_t fates[DEBUG_FILES_MAX]; /* used by the caller: enum worker_debug */
	size_t len;
	size_t own_len;                    /* the first of them are of our own root */
	uint32_t unread[FILE_REASONS_LEN]; /* existing files that could not be opened */
};

enum debug_root_kind {
	DEBUG_ROOT_TARGET,   /* of a process: each place */
	DEBUG_ROOT_BUILD_ID, /* of a process: places that a build ID gives */
	DEBUG_ROOT_OWN,      /* ours: the same, and .dwz of distributions */
	DEBUG_ROOT_DIR,      /* replaces /usr/lib/debug, and has other debug files by name */
};

/* Roots in order of search; with fd -1 a root is skipped. */
struct debug_root {
	enum debug_root_kind kind;
	int fd;        /* O_PATH */
	uid_t uid;     /* of a process: the mapped file's owner, as for opener_for_user */
	uint64_t blamed; /* for files that do not come; of a folder itself */
};

struct opener_call;

/* Opens folders for DEBUG_ROOT_DIR, O_PATH; *fds_len of them are open even after an error.
 * -E2BIG, -ENOENT, ...: why names the folder. */
int debug_files_open_dirs(const char *const *dirs, size_t dirs_len, int fds[DEBUG_DIRS_MAX],
	size_t *fds_len, struct why *why);
/* call: opens files; NULL: we do. */
void debug_files_open(struct debug_files *files, struct opener_call *call,
	const struct debug_file_query *query, const struct debug_root *roots, size_t roots_len);
/* Opens the first existing candidate of a part; path is the mapped file's. -ENOENT: none. A worker
 * decides whether it is the right file. */
int debug_files_open_part(struct opener_call *call, const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len);
/* Adds a file that we made, and takes its descriptor: a full list closes it. */
void debug_files_add(struct debug_files *files, const char *path, int fd);
/* Closes those that the others have, too. */
void debug_files_drop_known(struct debug_files *files, const struct debug_files *others);
/* Adds how many there are, are used and were refused by a worker. */
void debug_files_count(const struct debug_files *files, uint64_t *found, uint64_t *used,
	uint64_t refused[DEBUG_REASONS_LEN]);
void debug_files_close(struct debug_files *files);
