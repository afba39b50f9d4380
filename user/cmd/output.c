/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/output.c - write beside, then rename. What exists and is no regular file (a pipe, /dev/null)
 * is written to as it is. */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sink/compress.h"

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int fail(const char *path, int err, struct why *why)
{
	if (err == -EPIPE)
		return why_set(why, err, "cannot write %s: the reader closed the pipe",
			is_stdout(path) ? "to stdout" : path);
	if (err == -ENOSPC || err == -EDQUOT)
		return why_set(why, err,
			"cannot write %s: no space left; free some or choose another place with -o",
			is_stdout(path) ? "to stdout" : path);
	return why_set(why, err, "cannot write %s: %s", is_stdout(path) ? "to stdout" : path,
		err_text(err));
}

static int expand(const char *pattern, time_t when, char *path)
{
	struct tm tm;

	if (strlen(pattern) >= OUTPUT_PATH_MAX)
		return -ENAMETOOLONG;
	if (!strchr(pattern, '%')) {
		snprintf(path, OUTPUT_PATH_MAX, "%s", pattern);
		return 0;
	}
	localtime_r(&when, &tm);
	return strftime(path, OUTPUT_PATH_MAX, pattern, &tm) > 0 ? 0 : -ENAMETOOLONG;
}

int output_check(const struct output *output, struct why *why)
{
	char path[OUTPUT_PATH_MAX], copy[OUTPUT_PATH_MAX];
	struct stat st;
	const char *dir;
	int err;

	if (is_stdout(output->pattern))
		return 0;
	err = expand(output->pattern, time(NULL), path);
	if (err < 0)
		return fail(output->pattern, err, why);
	snprintf(copy, sizeof(copy), "%s", path);
	dir = dirname(copy);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return why_set(why, -ENOENT,
			"cannot write %s: there is no directory %s; make it first", path, dir);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return why_set(why, -EISDIR, "cannot write %s: it is a directory", path);
	if (access(dir, W_OK | X_OK) < 0)
		return fail(path, -errno, why);
	return 0;
}

static int write_to(int fd, const struct buf *bytes)
{
	return fd_write_all(fd, bytes->data, bytes->len);
}

static int write_beside(const char *path, const struct buf *bytes)
{
	char beside[OUTPUT_PATH_MAX + 32];
	_cleanup_fd_ int fd = -1;
	int err;

	snprintf(beside, sizeof(beside), "%s.%d.part", path, getpid());
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = write_to(fd, bytes);
	if (err == 0 && rename(beside, path) < 0)
		err = -errno;
	if (err < 0)
		unlink(beside);
	return err;
}

static int write_in_place(const char *path, const struct buf *bytes)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_to(fd, bytes);
}

int output_write_path(const char *path, const struct buf *bytes, struct why *why)
{
	struct stat st;
	int err;

	if (is_stdout(path))
		err = write_to(STDOUT_FILENO, bytes);
	else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		err = write_in_place(path, bytes);
	else
		err = write_beside(path, bytes);
	return err < 0 ? fail(path, err, why) : 0;
}

/* NAME.EXT → NAME-2.EXT: before the first dot of the last part. */
static void number_path(const char *path, unsigned int number, char *out)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strchr(slash ? slash + 1 : path, '.');
	int stem = dot ? (int)(dot - path) : (int)strlen(path);

	snprintf(out, OUTPUT_PATH_MAX, "%.*s-%u%s", stem, path, number, dot ? dot : "");
}

int output_write(struct output *output, time_t when, struct buf *bytes, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	char path[OUTPUT_PATH_MAX], numbered[OUTPUT_PATH_MAX];
	int err = expand(output->pattern, when, path);

	if (err < 0)
		return fail(output->pattern, err, why);
	output->same = strcmp(path, output->last) == 0 && !is_stdout(path) ? output->same + 1 : 0;
	snprintf(output->last, sizeof(output->last), "%s", path);
	if (output->same > 0)
		number_path(path, output->same + 1, numbered);
	err = compress_for_path(path, bytes, &packed);
	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", path, err_text(err));
	return output_write_path(output->same > 0 ? numbered : path, &packed, why);
}
