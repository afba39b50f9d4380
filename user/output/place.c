/* SPDX-License-Identifier: Apache-2.0 */
/* output/place.c - links in the folder's path must be the caller's or root's (output/folder.h).
 * Checks are of a descriptor or of a name in an open folder, so a path that is changed meanwhile
 * changes nothing. stoker often runs as root and writes to /tmp: a file that
 * another user put at the place of an output must neither be written to nor make us wait. */
#include "output/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "output/folder.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* One path, cut into folder and name. */
struct spot {
	const char *path;
	bool own; /* as of folder_open */
	int dir;
	char folder[OUTPUT_PATH_MAX];
	const char *name;
	struct stat dir_st, st;
	bool is_there;
};

const char *place_text(const char *path)
{
	return strcmp(path, "-") == 0 ? "to stdout" : path;
}

const char *place_error(int err)
{
	return err == -EPIPE        ? "the reader closed the pipe"
		: err == -ETIMEDOUT ? "timed out: its reader takes less than 1 MiB a minute"
		: err == -ENOSPC || err == -EDQUOT
		? "no space left; free some or choose another place"
		: err == -EACCES || err == -EPERM
		? "no permission to write to its directory; choose another place"
		: err == -ENOENT ? "its directory was deleted; make it, or choose another place"
		: err == -EROFS  ? "its file system is read-only; choose another place"
		: err == -EFBIG  ? "file too large; raise the limit with ulimit -f"
				 : err_text(err);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

/* The number that such a path means; -1: it is an ordinary path. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *digits = path + strlen(folders[i]);

		if (strncmp(path, folders[i], strlen(folders[i])) == 0 && digits[0] &&
			strlen(digits) < 8 && digits[strspn(digits, "0123456789")] == '\0')
			return (int)strtol(digits, NULL, 10);
	}
	return -1;
}

static int open_descriptor(const char *path, int number, struct place *out, struct why *why)
{
	int flags = fcntl(number, F_GETFL);

	if (flags < 0 || (flags & O_PATH)) /* a closed one that main() filled */
		return why_set(why, -EBADF, "cannot write %s: descriptor %d is not open",
			place_text(path), number);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return why_set(why, -EBADF, "cannot write %s: descriptor %d is open for reading",
			place_text(path), number);
	out->fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	if (out->fd < 0)
		return why_set(
			why, -errno, "cannot write %s: %s", place_text(path), err_text(errno));
	out->kind = PLACE_DESCRIPTOR;
	return 0;
}

/* ---- names in folders ----------------------------------------------------------------------- */

static const char in_proc[] = "no file can be made in /proc; choose another place";

static int open_spot(const char *path, bool own, struct spot *s, struct why *why)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	int err;

	*s = (struct spot){ .path = path, .own = own, .dir = -1, .name = slash ? slash + 1 : path };
	if (strlen(path) >= OUTPUT_PATH_MAX || strlen(s->name) > NAME_MAX)
		return why_set(why, -ENAMETOOLONG,
			"cannot write %.200s...: the name is too long; choose a shorter one", path);
	if (!path[0])
		return why_set(why, -ENOENT, "cannot write a file without a name; name one");
	memcpy(s->folder, path, len);
	if (len == 0)
		snprintf(s->folder, sizeof(s->folder), "%s", slash ? "/" : ".");
	err = folder_open(s->folder, own, &s->dir, why);
	if (err == FOLDER_SHARED)
		return -EPERM;
	if (err == -ENOENT)
		return why_set(why, err, "cannot write %s: there is no directory %s; make it first",
			path, s->folder);
	if (err == -EPERM)
		return why_set(why, err,
			"cannot write %s: %s goes through a symbolic link of another user; name "
			"the directory itself",
			path, s->folder);
	if (err == -EXDEV)
		return why_set(why, err,
			"cannot write %s: %s goes through a folder of a process in /proc; name the "
			"directory itself",
			path, s->folder);
	if (err < 0 || fstat(s->dir, &s->dir_st) < 0)
		return why_set(why, err < 0 ? err : -errno, "cannot write %s: %s: %s", path,
			s->folder, err_text(err < 0 ? -err : errno));
	s->is_there = fstatat(s->dir, s->name[0] ? s->name : ".", &s->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!s->is_there && errno != ENOENT)
		return why_set(why, -errno, "cannot write %s: %s", path, err_text(errno));
	return 0;
}

static void spot_done(struct spot *s)
{
	fd_close(&s->dir);
}

static const char *type_text(mode_t mode)
{
	return S_ISFIFO(mode)    ? "a FIFO"
		: S_ISSOCK(mode) ? "a socket"
		: S_ISDIR(mode)  ? "a directory"
				 : "a device";
}

/* Can somebody else replace what is there? */
static bool others_write(const struct spot *s)
{
	return (s->dir_st.st_mode & OTHERS_WRITE) ||
		(s->dir_st.st_uid != geteuid() && s->dir_st.st_uid != 0);
}

/* Did somebody else put it into a folder like /tmp? A file in a folder of its own user is as
 * the caller named it. */
static bool is_planted(const struct spot *s)
{
	return (s->dir_st.st_mode & (s->own ? OTHERS_WRITE : S_IWOTH)) &&
		s->st.st_uid != geteuid() && s->st.st_uid != s->dir_st.st_uid;
}

static int refuse(const struct spot *s, int err, const char *text, struct why *why)
{
	return why_set(why, err, "cannot write %s: %s", s->path, text);
}

static int refuse_planted(const struct spot *s, struct why *why)
{
	return why_set(why, -EPERM,
		"cannot write %s: it is %s of another user (uid %u), in a directory that others "
		"can write to; choose another place",
		s->path, type_text(s->st.st_mode), s->st.st_uid);
}

/* *target: the link's text, from where we are. */
static int read_link(const struct spot *s, char target[OUTPUT_PATH_MAX], struct why *why)
{
	char text[OUTPUT_PATH_MAX];
	ssize_t len;

	if (s->st.st_uid != geteuid())
		return why_set(why, -EPERM,
			"cannot write %s: it is a symbolic link of another user (uid %u); name "
			"its target, or remove it",
			s->path, s->st.st_uid);
	if (others_write(s))
		return refuse(s, -EPERM,
			"it is a symbolic link in a directory that others can write to; name its "
			"target",
			why);
	len = readlinkat(s->dir, s->name, text, sizeof(text));
	if (len < 0)
		return refuse(s, -errno, err_text(errno), why);
	if (snprintf(target, OUTPUT_PATH_MAX, "%.*s%.*s",
		    text[0] == '/' ? 0 : (int)(s->name - s->path), s->path, (int)len,
		    text) >= OUTPUT_PATH_MAX)
		return refuse(s, -ENAMETOOLONG, "its target's name is too long", why);
	return 0;
}

/* STATX_ATTR_* of what is there; name "": of the folder. */
static uint64_t attributes(const struct spot *s, const char *name)
{
	const int how = AT_SYMLINK_NOFOLLOW | (name[0] ? 0 : AT_EMPTY_PATH);
	struct statx st;

	return statx(s->dir, name, how, STATX_TYPE, &st) == 0 ? st.stx_attributes : 0;
}

/* chattr(1): rename() fails although a temporary file can be made, or cannot be removed again. */
static int check_attributes(const struct spot *s, struct why *why)
{
	uint64_t folder = attributes(s, ""), file = s->is_there ? attributes(s, s->name) : 0;

	if (folder & STATX_ATTR_IMMUTABLE)
		return refuse(s, -EPERM,
			"its directory is immutable; change that with chattr -i, or choose another "
			"place",
			why);
	if (folder & STATX_ATTR_APPEND)
		return refuse(s, -EPERM,
			"its directory is append-only, so no file in it can be replaced; change "
			"that with chattr -a, or choose another place",
			why);
	if (file & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return refuse(s, -EPERM,
			"the old file is immutable or append-only; change that with chattr -i -a, "
			"or choose another name",
			why);
	return 0;
}

static int compare(const struct spot *s, const struct stat *opened, struct why *why)
{
	if (opened->st_dev == s->st.st_dev && opened->st_ino == s->st.st_ino)
		return 0;
	return refuse(s, -EBUSY, "it was replaced meanwhile; try again", why);
}

/* Compared before it is opened for writing, when an overlay may give it another number. */
static int open_mount(const struct spot *s, struct place *out, struct why *why)
{
	_cleanup_fd_ int found = openat(s->dir, s->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[64];
	struct stat st;
	int err;

	if (found < 0 || fstat(found, &st) < 0)
		return refuse(s, -errno, place_error(-errno), why);
	err = compare(s, &st, why);
	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	out->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (out->fd < 0)
		return refuse(s, -errno, place_error(-errno), why);
	out->kind = PLACE_MOUNT;
	return 0;
}

/* how: O_NOFOLLOW; O_APPEND for the links in /proc, which may lead to a log. */
static int open_stream(const struct spot *s, int how, struct place *out, struct why *why)
{
	_cleanup_fd_ int fd =
		openat(s->dir, s->name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | how);
	struct stat st;
	int err;

	if (fd < 0 && errno == ENXIO && S_ISFIFO(s->st.st_mode))
		return refuse(s, -ENXIO, "no process reads this FIFO; start the reader first", why);
	if (fd < 0 && (errno == ENXIO || errno == ENODEV))
		return refuse(s, -errno, "this device is not there; name another, or a file", why);
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(s, -errno, err_text(errno), why);
	err = how == O_NOFOLLOW ? compare(s, &st, why) : 0;
	if (err < 0)
		return err;
	out->fd = TAKE_FD(fd);
	out->kind = PLACE_STREAM;
	return 0;
}

static int open_special(
	const struct spot *s, enum place_name name, struct place *out, struct why *why)
{
	if (S_ISDIR(s->st.st_mode))
		return refuse(s, -EISDIR, "it is a directory; name a file", why);
	if (S_ISSOCK(s->st.st_mode))
		return refuse(s, -EOPNOTSUPP, "it is a socket; name a file", why);
	if (name != PLACE_EXACT)
		return why_set(why, -EEXIST,
			"cannot write %s: %s is in the place of the file; remove it or choose "
			"another name",
			s->path, type_text(s->st.st_mode));
	return is_planted(s) ? refuse_planted(s, why) : open_stream(s, O_NOFOLLOW, out, why);
}

static void take_new(struct spot *s, struct place *out)
{
	out->kind = PLACE_NEW;
	out->dir = TAKE_FD(s->dir);
	snprintf(out->name, sizeof(out->name), "%s", s->name);
}

/* Anything but a link. */
static int open_at(struct spot *s, enum place_name name, struct place *out, struct why *why)
{
	int err;

	if (s->is_there && !S_ISREG(s->st.st_mode))
		return open_special(s, name, out, why);
	if (!s->name[0])
		return refuse(s, -EISDIR, "it is a directory; name a file", why);
	if (folder_is_proc(s->dir))
		return refuse(s, -EPERM, in_proc, why);
	/* rename() refuses to replace a mount point. */
	if (s->is_there && (attributes(s, s->name) & STATX_ATTR_MOUNT_ROOT))
		return open_mount(s, out, why);
	if (s->is_there && (s->dir_st.st_mode & S_ISVTX) && geteuid() != 0 &&
		s->st.st_uid != geteuid() && s->dir_st.st_uid != geteuid())
		return why_set(why, -EPERM,
			"cannot write %s: it is a file of another user (uid %u), and its directory "
			"lets only that user replace it; choose another name",
			s->path, s->st.st_uid);
	err = check_attributes(s, why);
	if (err == 0)
		take_new(s, out);
	return err;
}

static void name_link(const char *link, const char *target, struct why *why)
{
	struct why before = *why;

	why_set(why, 0, "%.300s (%.90s is a symbolic link to %.90s)", before.text, link, target);
}

static int refuse_second_link(const char *link, const char *target, struct why *why)
{
	return why_set(why, -ELOOP,
		"cannot write %s: it is a symbolic link to another one, %s; name what that leads "
		"to",
		link, target);
}

int place_open(const char *path, enum place_name name, struct place *out, struct why *why)
{
	char target[OUTPUT_PATH_MAX];
	const char *named = path;
	struct place made = PLACE_INIT;
	int err = 0;

	for (int links = 0; err == 0 && made.kind == PLACE_NONE; links++) {
		_cleanup_(spot_done) struct spot s = { .dir = -1 };
		int number = descriptor_of(path);

		if (number >= 0) {
			err = open_descriptor(path, number, &made, why);
			continue;
		}
		err = open_spot(path, false, &s, why);
		if (err < 0)
			break;
		if (!s.is_there || !S_ISLNK(s.st.st_mode)) {
			err = open_at(&s, name, &made, why);
		} else if (name == PLACE_OURS) {
			err = refuse(&s, -EEXIST,
				"a symbolic link is in the place of the file; remove it", why);
		} else if (name == PLACE_EXACT && folder_is_proc(s.dir)) {
			err = open_stream(&s, O_APPEND, &made, why);
		} else if (links > 0) {
			err = refuse_second_link(named, target, why);
		} else {
			err = read_link(&s, target, why);
			path = err < 0 ? path : target;
		}
	}
	if (err == 0)
		*out = made;
	else if (path == target && err != -ELOOP)
		name_link(named, target, why);
	return err;
}

int place_open_beside(const char *path, struct place *out, struct why *why)
{
	_cleanup_(spot_done) struct spot s = { .dir = -1 };
	struct place made = PLACE_INIT;
	int err = open_spot(path, false, &s, why);

	if (err < 0)
		return err;
	take_new(&s, &made);
	*out = made;
	return 0;
}

static int open_folder(const struct spot *s, int *dir, struct why *why)
{
	if (is_planted(s))
		return refuse_planted(s, why);
	*dir = openat(
		s->dir, s->name[0] ? s->name : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*dir < 0 && errno == ENOTDIR)
		return why_set(why, -ENOTDIR,
			"cannot write to %s: it is no directory; name one, or a name that is free",
			s->path);
	return *dir < 0 ? why_set(why, -errno, "cannot write to %s: %s", s->path,
				  errno == ENOENT ? "there is no such directory; make it first"
						  : place_error(-errno))
			: 0;
}

/* The folder is made where nothing is. */
static int make_folder(struct spot *s, struct why *why)
{
	if (mkdirat(s->dir, s->name, 0755) < 0 && errno != EEXIST)
		return why_set(why, -errno, "cannot make the directory %s: %s", s->path,
			folder_is_proc(s->dir) ? in_proc : place_error(-errno));
	if (fstatat(s->dir, s->name, &s->st, AT_SYMLINK_NOFOLLOW) < 0)
		return refuse(s, -errno, err_text(errno), why);
	s->is_there = true;
	return 0;
}

static int find_folder(const char *path, bool own, bool make, int *dir, struct why *why)
{
	_cleanup_(spot_done) struct spot s = { .dir = -1 }, end = { .dir = -1 };
	char whole[OUTPUT_PATH_MAX], target[OUTPUT_PATH_MAX] = "";
	size_t len = strlen(path);
	int err;

	while (len > 1 && path[len - 1] == '/')
		len--;
	snprintf(whole, sizeof(whole), "%.*s", (int)len, path);
	err = open_spot(whole, own, &s, why);
	if (err == 0 && !s.is_there && make)
		err = make_folder(&s, why);
	if (err < 0 || !s.is_there || !S_ISLNK(s.st.st_mode))
		return err < 0 ? err : open_folder(&s, dir, why);
	err = read_link(&s, target, why);
	if (err < 0)
		return err;
	err = open_spot(target, own, &end, why);
	if (err == 0 && end.is_there && S_ISLNK(end.st.st_mode))
		return refuse_second_link(whole, target, why);
	if (err == 0)
		err = open_folder(&end, dir, why);
	if (err < 0)
		name_link(whole, target, why);
	return err;
}

int place_open_folder(const char *path, bool make, int *dir, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();

	return find_folder(path, false, make, dir, why);
}

int place_open_store(const char *path, bool make, int *dir, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();
	_cleanup_fd_ int found = -1;
	int err = find_folder(path, true, make, &found, why);

	if (err < 0)
		return err;
	*dir = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *dir < 0
		? why_set(why, -errno, "cannot open the store %s: %s", path, err_text(errno))
		: 0;
}

int place_check(const char *path, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();
	_cleanup_fd_ int found = -1;
	int err = folder_open(path, true, &found, why);

	if (err == FOLDER_SHARED)
		return -EPERM;
	return err != -EPERM ? 0
			     : why_set(why, err,
				       "%s goes through a symbolic link of another user; name what "
				       "it leads to",
				       path);
}

void place_close(struct place *place)
{
	fd_close(&place->fd);
	fd_close(&place->dir);
	*place = (struct place)PLACE_INIT;
}

int place_identify(const struct place *place, struct place_id *out)
{
	struct place_id id = { .kind = place->kind };
	struct stat st;

	if (fstat(place->kind == PLACE_NEW ? place->dir : place->fd, &st) < 0)
		return -errno;
	id.dev = st.st_dev;
	id.ino = st.st_ino;
	if (place->kind == PLACE_NEW)
		memcpy(id.name, place->name, sizeof(id.name));
	else if (place->kind == PLACE_STREAM && !S_ISFIFO(st.st_mode))
		id.kind = PLACE_DESCRIPTOR;
	*out = id;
	return 0;
}

bool place_clashes(const struct place_id *a, const struct place_id *b)
{
	return a->kind != PLACE_NONE && a->kind != PLACE_DESCRIPTOR && a->kind == b->kind &&
		a->dev == b->dev && a->ino == b->ino && strcmp(a->name, b->name) == 0;
}
