/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/debug_files.h - opens what stands where a file's separate debug file may be. Whether it is
 * that file's is for a worker to say. */
#pragma once

#include <stddef.h>

#include "sym/debug_file.h"
#include "sym/debug_part.h"

#define DEBUG_FILES_MAX 4

struct debug_files {
	int fds[DEBUG_FILES_MAX]; /* best first */
	size_t len;
};

/* roots: O_PATH descriptors of the root directories to look in, in that order; -1 is passed over.
 */
void debug_files_open(struct debug_files *files, const struct debug_file_query *query,
	const int *roots, size_t roots_len);
/* The first file there is where a part may be, in the roots by turn; path is the mapped file's.
 * -ENOENT: none. Whether it is the one, is for a worker to say. */
int debug_files_open_part(
	const struct debug_part *part, const char *path, const int *roots, size_t roots_len);
void debug_files_close(struct debug_files *files);
