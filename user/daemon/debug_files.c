/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/debug_files.c - sym/debug_file.h says where, proc/opener.h opens. A place that leads to
 * the same file again (a link, or both roots being one) is offered again: the worker takes the
 * first that fits. */
#include "daemon/debug_files.h"

#include <errno.h>

#include "base/fd.h"
#include "proc/opener.h"

static void try_root(struct debug_files *files, const struct debug_file_query *query, int root_fd)
{
	char path[PATH_MAX];

	for (int place = 0; place < DEBUG_FILE_PLACES && files->len < DEBUG_FILES_MAX; place++) {
		if (debug_file_candidate(query, (enum debug_file_place)place, path) < 0)
			continue;
		if (opener_in_root(root_fd, path, &files->fds[files->len]) == 0)
			files->len++;
	}
}

void debug_files_open(struct debug_files *files, const struct debug_file_query *query,
	const int *roots, size_t roots_len)
{
	for (size_t i = 0; i < roots_len; i++)
		if (roots[i] >= 0 && query->path[0] == '/')
			try_root(files, query, roots[i]);
}

int debug_files_open_part(
	const struct debug_part *part, const char *path, const int *roots, size_t roots_len)
{
	char candidate[PATH_MAX];
	int fd;

	for (size_t i = 0; i < roots_len; i++)
		for (unsigned int place = 0; roots[i] >= 0 && place < DEBUG_PART_PLACES; place++)
			if (debug_part_candidate(part, path, place, candidate) == 0 &&
				opener_in_root(roots[i], candidate, &fd) == 0)
				return fd;
	return -ENOENT;
}

void debug_files_close(struct debug_files *files)
{
	while (files->len > 0)
		fd_close(&files->fds[--files->len]);
}
