/* SPDX-License-Identifier: Apache-2.0 */
/* output/output.c - write beside, then rename. What exists and is no regular file (a pipe,
 * /dev/null) is written to as it is. */
#include "output/output.h"

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

static void beside_path(const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s.%d.part", path, getpid());
}

/* A new file in any case. The folder may be everyone's: what somebody put under the name, a link
 * above all, is removed and not written to. */
static int open_beside(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, 0644);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0644);
	return fd;
}

/* Sets fd, and whether it is ours. */
static int open_path(struct output *o)
{
	char beside[OUTPUT_PATH_MAX + 32];
	struct stat st;

	o->named = !is_stdout(o->path);
	o->beside = o->named && (stat(o->path, &st) < 0 || S_ISREG(st.st_mode));
	beside_path(o->path, beside, sizeof(beside));
	if (!o->named)
		o->fd = STDOUT_FILENO;
	else if (o->beside)
		o->fd = open_beside(beside);
	else
		o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	return o->fd < 0 ? -errno : 0;
}

/* Some file systems say only now that there was no room. */
static int close_path(struct output *o)
{
	int fd = o->fd;

	o->fd = -1;
	return o->named && fd >= 0 && close(fd) < 0 ? -errno : 0;
}

static int rename_path(struct output *o)
{
	char beside[OUTPUT_PATH_MAX + 32];

	beside_path(o->path, beside, sizeof(beside));
	return o->beside && rename(beside, o->path) < 0 ? -errno : 0;
}

/* NAME.EXT → NAME-2.EXT: before the first dot of the last part. */
static void number_path(const char *path, unsigned int number, char *out)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strchr(slash ? slash + 1 : path, '.');
	int stem = dot ? (int)(dot - path) : (int)strlen(path);

	snprintf(out, OUTPUT_PATH_MAX, "%.*s-%u%s", stem, path, number, dot ? dot : "");
}

int output_begin(struct output *o, time_t when, struct why *why)
{
	enum compress_kind kind;
	char path[OUTPUT_PATH_MAX];
	int err = o->plain ? 0 : expand(o->pattern, when, path);

	if (o->plain && snprintf(path, sizeof(path), "%s", o->pattern) >= (int)sizeof(path))
		err = -ENAMETOOLONG;
	if (err < 0)
		return fail(o->pattern, err, why);
	o->same = strcmp(path, o->last) == 0 && !is_stdout(path) ? o->same + 1 : 0;
	snprintf(o->last, sizeof(o->last), "%s", path);
	snprintf(o->path, sizeof(o->path), "%s", path);
	if (o->same > 0)
		number_path(path, o->same + 1, o->path);
	kind = compress_kind_of(path);
	err = compress_new(kind == COMPRESS_NONE && o->gzip ? COMPRESS_GZIP : kind, &o->compress);
	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", path, err_text(err));
	err = open_path(o);
	return err < 0 ? fail(o->path, err, why) : 0;
}

static int write_packed(struct output *o, int err, const struct buf *packed, struct why *why)
{
	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", o->path, err_text(err));
	err = fd_write_all(o->fd, packed->data, packed->len);
	return err < 0 ? fail(o->path, err, why) : 0;
}

int output_put(struct output *o, const struct buf *bytes, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	int err = compress_put(o->compress, bytes->data, bytes->len, &packed);

	return write_packed(o, err, &packed, why);
}

int output_end(struct output *o, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	int err = compress_end(o->compress, &packed);

	err = write_packed(o, err, &packed, why);
	if (err < 0)
		return err;
	compress_free(TAKE_PTR(o->compress));
	err = close_path(o);
	if (err == 0)
		err = rename_path(o);
	return err < 0 ? fail(o->path, err, why) : 0;
}

void output_abort(struct output *o)
{
	char beside[OUTPUT_PATH_MAX + 32];

	if (!o->compress)
		return;
	compress_free(TAKE_PTR(o->compress));
	close_path(o);
	beside_path(o->path, beside, sizeof(beside));
	if (o->beside)
		unlink(beside);
}

int output_write(struct output *o, const struct buf *bytes, struct why *why)
{
	int err = output_begin(o, time(NULL), why);

	if (err == 0)
		err = output_put(o, bytes, why);
	if (err == 0)
		err = output_end(o, why);
	if (err < 0)
		output_abort(o);
	return err;
}

int output_write_path(const char *path, const struct buf *bytes, struct why *why)
{
	struct output o = { .fd = -1 };
	int err, closed;

	if (strlen(path) >= sizeof(o.path))
		return fail(path, -ENAMETOOLONG, why);
	snprintf(o.path, sizeof(o.path), "%s", path);
	err = open_path(&o);
	if (err == 0)
		err = fd_write_all(o.fd, bytes->data, bytes->len);
	closed = close_path(&o);
	err = err < 0 ? err : closed;
	if (err == 0)
		err = rename_path(&o);
	if (err < 0 && o.beside) {
		char beside[OUTPUT_PATH_MAX + 32];

		beside_path(path, beside, sizeof(beside));
		unlink(beside);
	}
	return err < 0 ? fail(path, err, why) : 0;
}
