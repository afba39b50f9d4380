/* SPDX-License-Identifier: Apache-2.0 */
/* http/token_file.c - opens without waiting: a FIFO without a writer would be waited for. A file
 * of ours is whole or absent (base/new_file.h), and of two daemons that begin at once one makes
 * it. */
#include "http/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/new_file.h"
#include "base/own.h"
#include "output/place.h"

#define TOKEN_MIN 16
#define TOKEN_MAX 256
#define TOKEN_BYTES 20 /* random, of one of ours */

/* path: for messages. */
static int read_first_line(int fd, const char *path, char out[HTTP_TEXT_MAX], struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_all(fd, 4096, &text);
	size_t len;

	if (err < 0)
		return why_set(why, err, "cannot read %s: %s", path, err_text(err));
	len = text.data ? strcspn(text.data, "\r\n") : 0;
	if (len < TOKEN_MIN || len > TOKEN_MAX || strcspn(text.data, " \t") < len)
		return why_set(why, -EINVAL,
			"%s: its first line has to be %d to %d characters without blanks", path,
			TOKEN_MIN, TOKEN_MAX);
	memcpy(out, text.data, len);
	out[len] = '\0';
	return 0;
}

static int open_regular(const char *path, int *out, struct stat *st, struct why *why)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) < 0)
		return why_set(why, -errno, "cannot read %s: %s", path, err_text(errno));
	if (!S_ISREG(st->st_mode))
		return why_set(why, -EINVAL, "%s is no regular file", path);
	*out = TAKE_FD(fd);
	return 0;
}

int token_file_read(const char *path, char out[HTTP_TEXT_MAX], struct why *why)
{
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int err = open_regular(path, &fd, &st, why);

	return err < 0 ? err : read_first_line(fd, path, out, why);
}

int token_file_trust(const char *path, char out[HTTP_TEXT_MAX], struct why *why)
{
	_cleanup_fd_ int fd = -1;
	struct stat st = { 0 };
	int err = place_check(path, why);

	if (err == 0)
		err = open_regular(path, &fd, &st, why);
	if (err < 0)
		return err;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return why_set(why, -EPERM,
			"%s is another user's (uid %u), who could choose the token: give it to "
			"root by chown",
			path, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return why_set(why, -EPERM,
			"%s can be written by other users (mode %04o), who could choose the "
			"token: take that from them by chmod go-w",
			path, st.st_mode & 07777);
	return read_first_line(fd, path, out, why);
}

static int invent(char out[HTTP_TEXT_MAX])
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int save(int dir, const char *name, const char *token)
{
	char text[HTTP_TEXT_MAX + 1];
	int len = snprintf(text, sizeof(text), "%s\n", token);
	int err = new_file_write(dir, name, text, (size_t)len,
		NEW_FILE_SYNC | NEW_FILE_NO_OLD | NEW_FILE_GROUP);

	return err == -EEXIST ? 0 : err;
}

static int make(int dir, const char *name, const char *path, char out[HTTP_TEXT_MAX],
	struct why *why)
{
	int err = invent(out);

	if (err == 0)
		err = save(dir, name, out);
	if (err < 0)
		why_set(why, err, "cannot make %s: %s", path, err_text(err));
	return err_unwritable(err) ? TOKEN_FILE_UNSAVED : err;
}

int token_file_save(const char *store, const char *name, const char *token, struct why *why)
{
	_cleanup_fd_ int dir = -1;
	int err = place_open_store(store, false, &dir, why);

	if (err < 0)
		return err;
	err = save(dir, name, token);
	return err < 0 ? why_set(why, err, "cannot make %s/%s: %s", store, name, err_text(err)) : 0;
}

int token_file_make(
	const char *store, const char *name, char out[HTTP_TEXT_MAX], struct why *why)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	_cleanup_fd_ int dir = -1, fd = -1;
	char path[OUTPUT_PATH_MAX], token[HTTP_TEXT_MAX] = "";
	struct stat st;
	int err = place_open_store(store, true, &dir, why);

	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "%s/%s", store, name);
	fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT) {
		err = make(dir, name, path, token, why);
		if (err == TOKEN_FILE_UNSAVED)
			memcpy(out, token, sizeof(token));
		if (err != 0)
			return err;
		fd = openat(dir, name, flags);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return why_set(why, -errno, "cannot read %s: %s", path, err_text(errno));
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EINVAL, "%s is no regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return why_set(why, -EPERM, "%s is another user's (uid %u): remove it", path,
			st.st_uid);
	return read_first_line(fd, path, out, why);
}
