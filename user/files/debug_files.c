/* SPDX-License-Identifier: Apache-2.0 */
/* files/debug_files.c - dwarf/debug_file.h gives paths, and an opener opens them. Several places
 * and roots may lead to one file, through links or because a process has the host's root: it is
 * offered once. Files of our own root and of --debug-dir come from any file system: only root and
 * the caller choose them. */
#include "files/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/opener_call.h"
#include "proc/opener.h"
#include "wire/status.h"

int debug_files_open_dirs(const char *const *dirs, size_t dirs_len, int fds[DEBUG_DIRS_MAX],
	size_t *fds_len, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();

	if (dirs_len > DEBUG_DIRS_MAX)
		return why_set(why, -E2BIG, "--debug-dir: %d folders at most", DEBUG_DIRS_MAX);
	for (size_t i = 0; i < dirs_len; i++) {
		int fd = open(dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		/* Who has it open may still not look into it. */
		if (fd >= 0 && faccessat(fd, ".", X_OK, 0) < 0)
			fd_close(&fd);
		if (fd < 0)
			return why_set(why, -errno,
				"--debug-dir %s: %s; give a folder of debug files, or leave the "
				"option out",
				dirs[i], err_text(errno));
		fds[(*fds_len)++] = fd;
	}
	return 0;
}

static bool is_of_process(const struct debug_root *root)
{
	return root->kind == DEBUG_ROOT_TARGET || root->kind == DEBUG_ROOT_BUILD_ID;
}

static int open_ours(const struct debug_root *root, const char *path, struct opener_found *found)
{
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int err = is_of_process(root) ? opener_for_user(root->fd, path, root->uid, &fd)
				      : opener_in_root(root->fd, path, &fd);

	if (err < 0)
		return err;
	if (fstat(fd, &st) < 0)
		return -errno;
	*found = (struct opener_found){ TAKE_FD(fd), st.st_dev, st.st_ino, st.st_uid };
	return 0;
}

static struct opener_place place_of(const struct debug_root *root)
{
	bool ours = !is_of_process(root);

	return (struct opener_place){
		.fd = root->fd,
		.rule = ours ? OPENING_ANY : OPENING_FOR_USER,
		.how = ours ? OPENING_PASS : OPENING_OFFER,
		.uid = root->uid,
		.blamed = root->blamed,
	};
}

/* The next path that there is, from *at on; paths are of this root. */
static int open_next(struct opener_call *call, const struct debug_root *root,
	const struct opener_paths *paths, uint32_t *at, struct opener_found *found)
{
	const struct opener_place place = place_of(root);
	const char *path = paths->text;
	uint32_t first = *at;

	if (call)
		return opener_call_files(call, &place, paths, at, found);
	for (*at = 0; *at < paths->len; (*at)++) {
		int err = *at < first ? -ENOENT : open_ours(root, path, found);

		if (err == 0 || opener_reason(err) >= 0)
			return err;
		path += strlen(path) + 1;
	}
	return -ENOENT;
}

/* As it is in this root; NULL: it cannot be there. */
static const char *below(const struct debug_root *root, const char *path)
{
	return root->kind == DEBUG_ROOT_DIR ? debug_file_below(path) : path;
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

static bool is_known(const struct debug_files *files, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < files->len; i++)
		if (files->devs[i] == dev && files->inos[i] == ino)
			return true;
	return false;
}

/* Takes the descriptor. */
static void add(struct debug_files *files, const char *path, const struct opener_found *found)
{
	_cleanup_fd_ int owned = found->fd;
	size_t at = files->len;

	if (at == DEBUG_FILES_MAX || is_known(files, found->dev, found->ino))
		return;
	files->paths[at] = strdup(path);
	files->fates[at] = 0;
	files->devs[at] = found->dev;
	files->inos[at] = found->ino;
	files->fds[at] = TAKE_FD(owned);
	files->len++;
}

void debug_files_add(struct debug_files *files, const char *path, int fd)
{
	struct stat st = { 0 };

	fstat(fd, &st);
	add(files, path, &(struct opener_found){ fd, st.st_dev, st.st_ino, st.st_uid });
}

/* The candidates of one root. */
struct places {
	struct opener_paths paths;
	enum debug_file_place of[DEBUG_FILE_PLACES];
};

static void open_places(struct debug_files *files, struct opener_call *call,
	const struct debug_file_query *query, const struct debug_root *root,
	const struct places *places)
{
	char path[PATH_MAX];

	for (uint32_t at = 0; at < places->paths.len && files->len < DEBUG_FILES_MAX; at++) {
		struct opener_found found = { .fd = -1 };
		int err = open_next(call, root, &places->paths, &at, &found);
		int reason = err < 0 ? opener_reason(err) : -1;

		if (err == 0 &&
			(at >= places->paths.len ||
				debug_file_candidate(query, places->of[at], path) < 0))
			fd_close(&found.fd);
		else if (err == 0)
			add(files, path, &found);
		else if (reason >= 0)
			files->unread[reason]++;
		if (err == -ETIMEDOUT || err == -ETIME || err == -EAGAIN)
			return;
	}
}

static void try_root(struct debug_files *files, struct opener_call *call,
	const struct debug_file_query *query, const struct debug_root *root)
{
	struct places places = { .paths.len = 0 };
	char path[PATH_MAX];

	for (int i = 0; i < DEBUG_FILE_PLACES; i++) {
		enum debug_file_place place = (enum debug_file_place)i;
		const char *at;

		if (!is_tried(root, place) || debug_file_candidate(query, place, path) < 0)
			continue;
		at = below(root, path);
		if (at && opener_paths_add(&places.paths, at) < 0) {
			open_places(files, call, query, root, &places);
			places.paths.len = 0;
			places.paths.bytes = 0;
			opener_paths_add(&places.paths, at);
		}
		if (at && places.paths.len > 0)
			places.of[places.paths.len - 1] = place;
	}
	open_places(files, call, query, root, &places);
}

void debug_files_open(struct debug_files *files, struct opener_call *call,
	const struct debug_file_query *query, const struct debug_root *roots, size_t roots_len)
{
	memset(files->unread, 0, sizeof(files->unread));
	for (size_t i = 0; i < roots_len; i++) {
		try_root(files, call, query, &roots[i]);
		if (roots[i].kind == DEBUG_ROOT_OWN)
			files->own_len = files->len;
	}
}

/* The first that can be opened. */
static int open_part(struct opener_call *call, const struct debug_part *part, const char *path,
	const struct debug_root *root)
{
	struct opener_paths paths = { .len = 0 };
	char candidate[PATH_MAX];

	for (unsigned int place = 0; place < DEBUG_PART_PLACES; place++) {
		const char *at;

		if (!is_part_tried(root, part, place) ||
			debug_part_candidate(part, path, place, candidate) < 0)
			continue;
		at = below(root, candidate);
		if (at)
			opener_paths_add(&paths, at);
	}
	for (uint32_t i = 0; i < paths.len; i++) {
		struct opener_found found = { .fd = -1 };
		int err = open_next(call, root, &paths, &i, &found);

		if (err == 0)
			return found.fd;
		if (err == -ETIMEDOUT || err == -ETIME || err == -EAGAIN)
			break;
	}
	return -ENOENT;
}

int debug_files_open_part(struct opener_call *call, const struct debug_part *part, const char *path,
	const struct debug_root *roots, size_t roots_len)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < roots_len && fd < 0; i++)
		fd = open_part(call, part, path, &roots[i]);
	return fd;
}

void debug_files_drop_known(struct debug_files *files, const struct debug_files *others)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->len; i++) {
		if (is_known(others, files->devs[i], files->inos[i])) {
			fd_close(&files->fds[i]);
			free(files->paths[i]);
			continue;
		}
		files->fds[kept] = files->fds[i];
		files->devs[kept] = files->devs[i];
		files->inos[kept] = files->inos[i];
		files->fates[kept] = files->fates[i];
		files->paths[kept++] = files->paths[i];
	}
	files->len = kept;
}

void debug_files_count(const struct debug_files *files, uint64_t *found, uint64_t *used,
	uint64_t refused[DEBUG_REASONS_LEN])
{
	*found += files->len;
	for (size_t i = 0; i < files->len; i++) {
		*used += files->fates[i] == WORKER_DEBUG_USED;
		if (files->fates[i] > WORKER_DEBUG_USED)
			refused[files->fates[i] - WORKER_DEBUG_SEEN]++;
	}
}

void debug_files_close(struct debug_files *files)
{
	while (files->len > 0) {
		fd_close(&files->fds[--files->len]);
		free(files->paths[files->len]);
	}
	files->own_len = 0;
}
