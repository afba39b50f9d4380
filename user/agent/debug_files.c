/* SPDX-License-Identifier: Apache-2.0 */
/* agent/debug_files.c - dwarf/debug_file.h gives paths, proc/opener.h opens them. Several places
 * and roots may lead to one file, through links or because a process has the host's root: it is
 * offered once. */
#include "agent/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "proc/opener.h"

int debug_files_open_dirs(const char *const *dirs, size_t dirs_len, int fds[DEBUG_DIRS_MAX],
	size_t *fds_len, struct why *why)
{
	if (dirs_len > DEBUG_DIRS_MAX)
		return why_set(why, -E2BIG, "--debug-dir: %d folders at most", DEBUG_DIRS_MAX);
	for (size_t i = 0; i < dirs_len; i++) {
		int fd = open(dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return why_set(why, -errno, "--debug-dir %s: %s", dirs[i], err_text(errno));
		fds[(*fds_len)++] = fd;
	}
	return 0;
}

static int open_candidate(const struct debug_root *root, const char *path, int *fd)
{
	const char *at = root->debug_dir ? debug_file_below(path) : path;

	return at ? opener_in_root(root->fd, at, fd) : -ENOENT;
}

static bool is_known(const struct debug_files *files, const struct stat *st)
{
	struct stat other;

	for (size_t i = 0; i < files->len; i++)
		if (fstat(files->fds[i], &other) == 0 && other.st_dev == st->st_dev &&
			other.st_ino == st->st_ino)
			return true;
	return false;
}

void debug_files_add(struct debug_files *files, const char *path, int fd)
{
	_cleanup_fd_ int owned = fd;
	struct stat st;

	if (files->len == DEBUG_FILES_MAX || fstat(fd, &st) < 0 || is_known(files, &st))
		return;
	files->paths[files->len] = strdup(path);
	files->fates[files->len] = 0;
	files->fds[files->len++] = TAKE_FD(owned);
}

static void try_place(struct debug_files *files, const struct debug_file_query *query,
	enum debug_file_place place, const struct debug_root *root)
{
	char path[PATH_MAX];
	int fd, reason, err = debug_file_candidate(query, place, path);

	if (err == 0)
		err = open_candidate(root, path, &fd);
	reason = err < 0 ? opener_reason(err) : -1;
	if (err == 0)
		debug_files_add(files, path, fd);
	else if (reason >= 0)
		files->unread[reason]++;
}

void debug_files_open(struct debug_files *files, const struct debug_file_query *query,
	const struct debug_root *roots, size_t roots_len)
{
	memset(files->unread, 0, sizeof(files->unread));
	for (size_t i = 0; i < roots_len; i++)
		for (int place = 0; place < DEBUG_FILE_PLACES && roots[i].fd >= 0; place++)
			if (files->len < DEBUG_FILES_MAX)
				try_place(files, query, (enum debug_file_place)place, &roots[i]);
}

int debug_files_open_part(const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len)
{
	char candidate[PATH_MAX];
	int fd;

	for (size_t i = 0; i < roots_len; i++)
		for (unsigned int place = 0; roots[i].fd >= 0 && place < DEBUG_PART_PLACES; place++)
			if (debug_part_candidate(part, path, place, candidate) == 0 &&
				open_candidate(&roots[i], candidate, &fd) == 0)
				return fd;
	return -ENOENT;
}

void debug_files_close(struct debug_files *files)
{
	while (files->len > 0) {
		fd_close(&files->fds[--files->len]);
		free(files->paths[files->len]);
	}
}
