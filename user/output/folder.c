/* SPDX-License-Identifier: Apache-2.0 */
/* output/folder.c - looks at each part of a path itself. Checks are of a descriptor or of a name in
 * an open folder, so a path that is changed meanwhile changes nothing. */
#include "output/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define LINKS_MAX 40 /* as in the kernel */

bool folder_is_ours(unsigned int user)
{
	return user == 0 || user == geteuid();
}

bool folder_is_proc(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Puts the text of a link before what is left of the path. */
static int put_link(int dir, const char *name, const char *left, char path[PATH_MAX])
{
	/* Judged and read through one descriptor: its folder may be another user's. */
	_cleanup_fd_ int link = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char text[PATH_MAX], whole[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (link < 0 || fstat(link, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (!folder_is_ours(st.st_uid))
		return -EPERM;
	len = readlinkat(link, "", text, sizeof(text));
	if (len < 0)
		return -errno;
	if (len > 0 && text[0] == '/' && folder_is_proc(dir))
		return -EXDEV;
	if (snprintf(whole, sizeof(whole), "%.*s/%s", (int)len, text, left) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(path, whole, sizeof(whole));
	return 0;
}

static int open_dir(int dir, const char *name, int how)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | how);

	return fd < 0 ? -errno : fd;
}

/* The next part of the path, from `at` on. */
static int open_next(int dir, char path[PATH_MAX], char **at, int *links)
{
	char name[NAME_MAX + 1], *end = *at + strcspn(*at, "/");
	int next, err;

	if (end - *at > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(name, sizeof(name), "%.*s", (int)(end - *at), *at);
	*at = end + strspn(end, "/");
	next = open_dir(dir, name, O_NOFOLLOW);
	if (next != -ENOTDIR && next != -ELOOP)
		return next;
	err = (*links)++ < LINKS_MAX ? put_link(dir, name, *at, path) : -ELOOP;
	if (err < 0)
		return err;
	*at = path + strspn(path, "/");
	return path[0] == '/' ? open_dir(AT_FDCWD, "/", 0) : open_dir(dir, ".", 0);
}

/* Whose a folder has to be. */
enum owner { OWNER_ANY, OWNER_US, OWNER_ROOT };

static bool is_owner(enum owner owner, uid_t user)
{
	return owner == OWNER_ROOT ? user == 0 : folder_is_ours(user);
}

static int refuse(enum owner owner, int dir, const struct stat *st, const char *path,
	struct why *why)
{
	char link[64], folder[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	len = readlink(link, folder, sizeof(folder) - 1);
	folder[len > 0 ? len : 0] = '\0';
	if (is_owner(owner, st->st_uid))
		why_set(why, -EPERM,
			"%.150s (of user %u, mode %04o) can be written by other users, who may "
			"change what %.150s leads to: take that from them by chmod go-w, or choose "
			"another path",
			folder, (unsigned int)st->st_uid, (unsigned int)st->st_mode & 07777, path);
	else
		why_set(why, -EPERM,
			"%.150s belongs to user %u, who may change what %.150s leads to: give it "
			"to root by chown, or choose another path",
			folder, (unsigned int)st->st_uid, path);
	return FOLDER_SHARED;
}

/* In a sticky folder others can rename only what is their own; where it is the last, they can add
 * files. */
static int check_owner(
	enum owner owner, int dir, bool is_last, const char *path, struct why *why)
{
	bool sticky_will_do = owner != OWNER_ROOT || !is_last;
	struct stat st;

	if (owner == OWNER_ANY)
		return FOLDER_OPEN;
	if (fstat(dir, &st) < 0)
		return -errno;
	if (is_owner(owner, st.st_uid) &&
		(!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX && sticky_will_do)))
		return FOLDER_OPEN;
	return refuse(owner, dir, &st, path, why);
}

static int open_path(const char *path, enum owner owner, int *out, struct why *why)
{
	_cleanup_fd_ int dir = open_dir(AT_FDCWD, path[0] == '/' ? "/" : ".", 0);
	char text[PATH_MAX], *at = text;
	int links = 0, err = FOLDER_OPEN;

	if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
		return -ENAMETOOLONG;
	at += strspn(at, "/");
	while (dir >= 0) {
		int next;

		err = check_owner(owner, dir, !*at, path, why);
		if (err != FOLDER_OPEN || !*at)
			break;
		next = open_next(dir, text, &at, &links);
		if (next < 0)
			return next;
		fd_close(&dir);
		dir = next;
	}
	if (dir < 0)
		return dir;
	if (err == FOLDER_OPEN)
		*out = TAKE_FD(dir);
	return err;
}

int folder_open(const char *path, bool own, int *out, struct why *why)
{
	return open_path(path, own ? OWNER_US : OWNER_ANY, out, why);
}

int folder_open_roots(const char *path, int *out, struct why *why)
{
	return open_path(path, OWNER_ROOT, out, why);
}
