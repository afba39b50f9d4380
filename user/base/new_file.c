/* SPDX-License-Identifier: Apache-2.0 */
/* base/new_file.c - a temporary file with a random name, then a rename.
 * Invariant: O_EXCL creates the file, so nobody can prepare what we open; the random name keeps
 * another user from blocking it in a shared folder. Which folder and which name are safe is left
 * to the caller. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define PART_END ".part"
#define DIGITS 8 /* of the random number */
#define TRIES_MAX 16
#define STEM_MAX (NAME_MAX - (int)sizeof("." PART_END) + 1 - DIGITS)

int new_file_open(struct new_file *file, int dir, const char *stem)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct new_file made = { .dir = dir };

	for (int i = 0; i < TRIES_MAX; i++) {
		uint32_t number;

		if (getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		snprintf(made.part, sizeof(made.part), "%.*s.%0*x" PART_END, STEM_MAX, stem, DIGITS,
			number);
		made.fd = openat(dir, made.part, flags, 0644);
		if (made.fd >= 0) {
			*file = made;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

int new_file_commit(struct new_file *file, const char *name, unsigned int how)
{
	const unsigned int flags = how & NEW_FILE_NO_OLD ? RENAME_NOREPLACE : 0;
	int fd = TAKE_FD(file->fd);
	bool failed = fd >= 0 && how & NEW_FILE_SYNC && fsync(fd) < 0;
	int err = failed ? -errno : 0;

	/* Some file systems report only now that there was no room. */
	if (fd >= 0 && close(fd) < 0 && err == 0)
		err = -errno;
	if (err < 0)
		return err;
	file->complete = true;
	if (!name)
		return 0;
	if (renameat2(file->dir, file->part, file->dir, name, flags) < 0)
		return -errno;
	if (how & NEW_FILE_SYNC)
		fsync(file->dir);
	*file = (struct new_file)NEW_FILE_INIT;
	return 0;
}

int new_file_abort(struct new_file *file)
{
	int err = 0;

	fd_close(&file->fd);
	if (file->dir >= 0 && unlinkat(file->dir, file->part, 0) < 0)
		err = -errno;
	*file = (struct new_file)NEW_FILE_INIT;
	return err;
}

void new_file_keep(struct new_file *file)
{
	fd_close(&file->fd);
	*file = (struct new_file)NEW_FILE_INIT;
}

int new_file_write(int dir, const char *name, const void *data, size_t size, unsigned int how)
{
	struct new_file file = NEW_FILE_INIT;
	int err = new_file_open(&file, dir, name);

	if (err < 0)
		return err;
	if (how & NEW_FILE_GROUP && fchmod(file.fd, 0640) < 0)
		err = -errno;
	if (err == 0)
		err = fd_write_all(file.fd, data, size);
	if (err == 0)
		err = new_file_commit(&file, name, how);
	if (err < 0)
		new_file_abort(&file);
	return err;
}

bool new_file_is_part(const char *name, const char *stem)
{
	size_t len = strlen(stem);

	if (strncmp(name, stem, len) != 0)
		return false;
	name += len;
	/* Version 0.1 wrote no number. */
	if (name[0] == '.' && strspn(name + 1, "0123456789abcdef") == DIGITS)
		name += 1 + DIGITS;
	return strcmp(name, PART_END) == 0;
}
