/* SPDX-License-Identifier: Apache-2.0 */
/* agent/debug_files.h - opens what stands where a file's separate debug file may be. Whether it is
 * that file's is for a worker to say. */
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
	int fds[DEBUG_FILES_MAX];       /* best first; each file once */
	char *paths[DEBUG_FILES_MAX];   /* in their roots; NULL: no memory */
	uint8_t fates[DEBUG_FILES_MAX]; /* the caller's: enum worker_debug */
	size_t len;
	uint32_t unread[FILE_REASONS_LEN]; /* those that are there and cannot be opened */
};

/* Where to look, in that order; with fd -1 it is passed over. */
struct debug_root {
	int fd;         /* O_PATH */
	bool debug_dir; /* stands for /usr/lib/debug, and holds other debug files by name */
};

/* Folders for debug_root.debug_dir, O_PATH; *fds_len of them are open in any case. -E2BIG, -ENOENT,
 * ...: why names the one. */
int debug_files_open_dirs(const char *const *dirs, size_t dirs_len, int fds[DEBUG_DIRS_MAX],
	size_t *fds_len, struct why *why);
void debug_files_open(struct debug_files *files, const struct debug_file_query *query,
	const struct debug_root *roots, size_t roots_len);
/* The first file there is where a part may be; path is the mapped file's. -ENOENT: none. Whether it
 * is the one, is for a worker to say. */
int debug_files_open_part(const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len);
/* One from elsewhere; takes the descriptor. A full list takes no more. */
void debug_files_add(struct debug_files *files, const char *path, int fd);
void debug_files_close(struct debug_files *files);
