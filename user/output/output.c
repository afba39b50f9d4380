/* SPDX-License-Identifier: Apache-2.0 */
/* output/output.c - a path, then bytes, compressed on the way. Either the whole file gets its name
 * or nothing is left; a FIFO, device or descriptor keeps what it got. A mount is emptied when it is
 * begun and after a failure. place.c decides which places a path may name. */
#include "output/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sink/compress.h"
#include "sink/file.h"
#include "sink/sink.h"

#define TRY_BYTES 4096 /* a disk without room refuses these */
#define STALL_BYTES (1U << 20)

static int fail(const char *path, int err, struct why *why)
{
	const char *text = err == -EPIPE ? "the reader closed the pipe"
		: err == -ETIMEDOUT      ? "timed out: its reader takes less than 1 MiB a minute"
		: err == -ENOSPC || err == -EDQUOT
		? "no space left; free some or choose another place"
		: err == -EACCES || err == -EPERM
		? "no permission to write to its directory; choose another place"
		: err == -EROFS ? "its file system is read-only; choose another place"
				: err_text(err);

	return why_set(why, err, "cannot write %s: %s", place_text(path), text);
}

static int expand(const struct output *o, time_t when, char *path)
{
	bool fixed = o->plain || o->as_is || !strchr(o->pattern, '%');
	struct tm tm;

	if (strlen(o->pattern) >= OUTPUT_PATH_MAX)
		return -ENAMETOOLONG;
	if (fixed) {
		snprintf(path, OUTPUT_PATH_MAX, "%s", o->pattern);
		return 0;
	}
	localtime_r(&when, &tm);
	return strftime(path, OUTPUT_PATH_MAX, o->pattern, &tm) > 0 ? 0 : -ENAMETOOLONG;
}

static enum place_name name_of(const struct output *o)
{
	if (o->plain)
		return PLACE_OURS;
	return o->as_is || !strchr(o->pattern, '%') ? PLACE_EXACT : PLACE_PATTERN;
}

static int try_new(const struct place *place)
{
	static const char zeros[TRY_BYTES];
	struct new_file file;
	int err = new_file_open(&file, place->dir, place->name);

	if (err < 0)
		return err;
	err = fd_write_all(file.fd, zeros, sizeof(zeros));
	new_file_abort(&file);
	return err;
}

int output_try(struct output *o, struct why *why)
{
	int err = expand(o, time(NULL), o->path);

	if (err < 0)
		return fail(o->pattern, err, why);
	err = place_open(o->path, name_of(o), &o->place, why);
	if (err < 0)
		return err;
	err = o->place.kind == PLACE_NEW ? try_new(&o->place) : 0;
	if (o->place.kind == PLACE_NEW || o->place.kind == PLACE_MOUNT)
		place_close(&o->place);
	return err < 0 ? fail(o->path, err, why) : 0;
}

/* NAME.EXT → NAME-2.EXT: before the first dot of the last part. */
static void number_path(const char *path, unsigned int number, char *out)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strchr(slash ? slash + 1 : path, '.');
	int stem = dot ? (int)(dot - path) : (int)strlen(path);

	snprintf(out, OUTPUT_PATH_MAX, "%.*s-%u%s", stem, path, number, dot ? dot : "");
}

/* Sets fd. */
static int open_place(struct output *o, struct why *why)
{
	int err = o->place.kind == PLACE_NONE ? place_open(o->path, name_of(o), &o->place, why) : 0;

	if (err < 0)
		return err;
	o->writing = true;
	o->file = (struct new_file)NEW_FILE_INIT;
	if (o->place.kind == PLACE_NEW)
		err = new_file_open(&o->file, o->place.dir, o->place.name);
	else if (o->place.kind == PLACE_MOUNT && ftruncate(o->place.fd, 0) < 0)
		err = -errno;
	o->fd = o->place.kind == PLACE_NEW ? o->file.fd : o->place.fd;
	return err < 0 ? fail(o->path, err, why) : 0;
}

int output_begin(struct output *o, time_t when, struct why *why)
{
	enum compress_kind kind;
	char path[OUTPUT_PATH_MAX];
	int err = expand(o, when, path);

	if (err < 0)
		return fail(o->pattern, err, why);
	o->same = strcmp(path, o->last) == 0 && strcmp(path, "-") != 0 ? o->same + 1 : 0;
	snprintf(o->last, sizeof(o->last), "%s", path);
	snprintf(o->path, sizeof(o->path), "%s", path);
	if (o->same > 0)
		number_path(path, o->same + 1, o->path);
	kind = o->as_is ? COMPRESS_NONE : compress_kind_of(path);
	err = compress_new(kind == COMPRESS_NONE && o->gzip ? COMPRESS_GZIP : kind, &o->compress);
	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", path, err_text(err));
	return open_place(o, why);
}

/* When a FIFO's reader must have taken the next STALL_BYTES. */
static uint64_t stall_end_ns(const struct output *o)
{
	int stall_ms = o->stall_ms > 0 ? o->stall_ms : OUTPUT_STALL_MS;

	return clock_ns(CLOCK_MONOTONIC) + (uint64_t)stall_ms * NSEC_PER_MSEC;
}

/* A descriptor of ours may be in non-blocking mode, too, and its reader may take its time: a pager
 * waits for a person. */
static int wait_for_reader(const struct output *o, uint64_t end_ns)
{
	struct pollfd fd = { .fd = o->fd, .events = POLLOUT };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int left_ms = now < end_ns ? (int)((end_ns - now) / NSEC_PER_MSEC) : 0;
	int n = poll(&fd, 1, o->place.kind == PLACE_STREAM ? left_ms : -1);

	if (n < 0 && errno != EINTR)
		return -errno;
	return n == 0 || (o->place.kind == PLACE_STREAM && now >= end_ns) ? -ETIMEDOUT : 0;
}

static int write_packed(struct output *o, int err, const struct buf *packed, struct why *why)
{
	uint64_t end_ns = stall_end_ns(o);
	size_t at = 0, counted = 0;

	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", o->path, err_text(err));
	while (err == 0 && at < packed->len) {
		ssize_t n = write(o->fd, packed->data + at, packed->len - at);

		if (n >= 0)
			at += (size_t)n;
		else if (errno == EAGAIN)
			err = wait_for_reader(o, end_ns);
		else if (errno != EINTR)
			err = -errno;
		if (at - counted >= STALL_BYTES) {
			counted = at;
			end_ns = stall_end_ns(o);
		}
	}
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
	if (o->place.kind == PLACE_NEW)
		err = new_file_commit(&o->file, o->place.name, o->sync ? NEW_FILE_SYNC : 0);
	else if (close(TAKE_FD(o->place.fd)) < 0)
		err = -errno;
	if (err < 0)
		return fail(o->path, err, why);
	o->writing = false;
	compress_free(TAKE_PTR(o->compress));
	place_close(&o->place);
	return 0;
}

void output_abort(struct output *o)
{
	compress_free(TAKE_PTR(o->compress));
	if (o->writing && o->place.kind == PLACE_NEW)
		new_file_abort(&o->file);
	else if (o->writing && o->place.kind == PLACE_MOUNT)
		(void)!ftruncate(o->place.fd, 0);
	o->writing = false;
	if (o->place.kind != PLACE_NONE)
		place_close(&o->place);
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

struct profile_out {
	struct output *output;
	struct why *why;
	bool refused; /* why has the output's reason */
};

static int put_piece(void *ctx, const struct buf *bytes)
{
	struct profile_out *out = ctx;
	int err = output_put(out->output, bytes, out->why);

	out->refused |= err < 0;
	return err;
}

int output_write_profile(struct output *o, const struct sink *sink,
	const struct sink_options *options, const struct profile *profile, struct why *why)
{
	struct profile_out out = { .output = o, .why = why };
	struct sink_file file = { 0 };
	int err = output_begin(o, time(NULL), why);

	if (err < 0) {
		output_abort(o);
		return err;
	}
	err = sink_file_open(&file, sink, options);
	file.out.take = put_piece;
	file.out.ctx = &out;
	if (err == 0)
		err = sink_file_put(&file, profile);
	if (err == 0)
		err = sink_file_end(&file);
	sink_file_done(&file);
	if (err < 0 && !out.refused)
		why_set(why, err, "cannot write %s: %s", place_text(o->path), err_text(err));
	if (err == 0)
		err = output_end(o, why);
	if (err < 0)
		output_abort(o);
	return err;
}

int output_write_path(const char *path, const struct buf *bytes, struct why *why)
{
	struct output output = { .pattern = path, .as_is = true };

	return output_write(&output, bytes, why);
}
