/* SPDX-License-Identifier: Apache-2.0 */
/* files/debug_files.c - dwarf/debug_file.h gives paths, proc/opener.h opens them. Several places
 * and roots may lead to one file, through links or because a process has the host's root: it is
 * offered once. */
#include "files/debug_files.h"

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
	const char *at = root->kind == DEBUG_ROOT_DIR ? debug_file_below(path) : path;

	if (!at)
		return -ENOENT;
	return root->kind == DEBUG_ROOT_TARGET || root->kind == DEBUG_ROOT_BUILD_ID
		? opener_for_user(root->fd, at, root->uid, fd)
		: opener_in_root(root->fd, at, fd);
}

static bool is_tried(const struct debug_root *root, enum debug_file_place place)
{
	return root->fd >= 0 &&
		(place == DEBUG_FILE_BUILD_ID || root->kind == DEBUG_ROOT_TARGET ||
			root->kind == DEBUG_ROOT_DIR);
}

/* The first places of a shared part are those by build ID and of distributions. */
static bool is_part_tried(
	const struct debug_root *root, const struct debug_part *part, unsigned int place)
{
	if (root->fd < 0)
		return false;
	return root->kind == DEBUG_ROOT_TARGET || root->kind == DEBUG_ROOT_DIR ||
		(part->kind == DEBUG_PART_ALT && place <= (root->kind == DEBUG_ROOT_OWN));
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
	for (size_t i = 0; i < roots_len; i++) {
		for (int place = 0; place < DEBUG_FILE_PLACES; place++)
			if (is_tried(&roots[i], (enum debug_file_place)place) &&
				files->len < DEBUG_FILES_MAX)
				try_place(files, query, (enum debug_file_place)place, &roots[i]);
		if (roots[i].kind == DEBUG_ROOT_OWN)
			files->own_len = files->len;
	}
}

int debug_files_open_part(const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len)
{
	char candidate[PATH_MAX];
	int fd;

	for (size_t i = 0; i < roots_len; i++)
		for (unsigned int place = 0; place < DEBUG_PART_PLACES; place++)
			if (is_part_tried(&roots[i], part, place) &&
				debug_part_candidate(part, path, place, candidate) == 0 &&
				open_candidate(&roots[i], candidate, &fd) == 0)
				return fd;
	return -ENOENT;
}

void debug_files_drop_known(struct debug_files *files, const struct debug_files *others)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->len; i++) {
		struct stat st;

		if (fstat(files->fds[i], &st) < 0 || is_known(others, &st)) {
			fd_close(&files->fds[i]);
			free(files->paths[i]);
			continue;
		}
		files->fds[kept] = files->fds[i];
		files->fates[kept] = files->fates[i];
		files->paths[kept++] = files->paths[i];
	}
	files->len = kept;
}

void debug_files_close(struct debug_files *files)
{
	while (files->len > 0) {
		fd_close(&files->fds[--files->len]);
		free(files->paths[files->len]);
	}
	files->own_len = 0;
}
