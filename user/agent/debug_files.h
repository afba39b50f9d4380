/* SPDX-License-Identifier: Apache-2.0 */
/* agent/debug_files.h - opens the candidates for a file's separate debug file. A worker decides
 * whether one belongs to the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/reasons.h"
#include "base/err.h"
#include "dwarf/debug_file.h"
#include "dwarf/debug_part.h"

#define DEBUG_FILES_MAX 8
#define DEBUG_DIRS_MAX 16

struct debug_files {
	int fds[DEBUG_FILES_MAX];       /* best first, without duplicates */
	char *paths[DEBUG_FILES_MAX];   /* relative to their roots; NULL: no memory */
	uint8_t fates[DEBUG_FILES_MAX]; /* used by the caller: enum worker_debug */
	size_t len;
	uint32_t unread[FILE_REASONS_LEN]; /* existing files that could not be opened */
};

/* Roots in order of search; with fd -1 a root is skipped. */
struct debug_root {
	int fd;         /* O_PATH */
	bool debug_dir; /* replaces /usr/lib/debug, and has other debug files by name */
};

/* Opens folders for debug_root.debug_dir, O_PATH; *fds_len of them are open even after an error.
 * -E2BIG, -ENOENT, ...: why names the folder. */
int debug_files_open_dirs(const char *const *dirs, size_t dirs_len, int fds[DEBUG_DIRS_MAX],
	size_t *fds_len, struct why *why);
void debug_files_open(struct debug_files *files, const struct debug_file_query *query,
	const struct debug_root *roots, size_t roots_len);
/* Opens the first existing candidate of a part; path is the mapped file's. -ENOENT: none. A worker
 * decides whether it is the right file. */
int debug_files_open_part(const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len);
/* Adds one from elsewhere and takes the descriptor. A full list closes it. */
void debug_files_add(struct debug_files *files, const char *path, int fd);
void debug_files_close(struct debug_files *files);
