/* SPDX-License-Identifier: Apache-2.0 */
/* output/output.c - a path, then bytes, compressed on the way. Either the whole file gets its name
 * or nothing is left; a FIFO, device or descriptor keeps what it got. A mount is emptied when it is
 * begun and after a failure. place.c decides which places a path may name. */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sink/compress.h"
#include "sink/file.h"
#include "sink/sink.h"

#define TRY_BYTES 4096 /* a disk without room refuses these */
#define STALL_BYTES (1U << 20)
#define HURRY_BYTES (64U << 10)
#define TICK_US 100000

/* ---- hurry ---------------------------------------------------------------------------------- */

static void on_tick(int signal)
{
	(void)signal;
}

void output_hurry_init(struct output_hurry *hurry, int fd)
{
	const struct sigaction interrupt = { .sa_handler = on_tick };
	sigset_t set;

	*hurry = (struct output_hurry){ .fd = fd };
	sigaction(SIGALRM, &interrupt, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void delay_end(struct output_hurry *hurry)
{
	hurry->end_ns = clock_ns(CLOCK_MONOTONIC) + OUTPUT_HURRY_MS * NSEC_PER_MSEC;
	hurry->taken = 0;
}

void output_hurry(struct output_hurry *hurry)
{
	if (hurry->end_ns == 0)
		delay_end(hurry);
}

static bool is_hurried(const struct output *o)
{
	return o->hurry && o->hurry->end_ns != 0;
}

/* ---- places --------------------------------------------------------------------------------- */

static int fail(const char *path, int err, struct why *why)
{
	return why_set(why, err, "cannot write %s: %s", place_text(path), place_error(err));
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

static int try_new(const char *path, const struct place *place, struct why *why)
{
	static const char zeros[TRY_BYTES];
	struct new_file file;
	int err = new_file_open(&file, place->dir, place->name);
	char part[sizeof(file.part)];

	if (err < 0)
		return fail(path, err, why);
	memcpy(part, file.part, sizeof(part));
	err = fd_write_all(file.fd, zeros, sizeof(zeros));
	if (new_file_abort(&file) < 0 && err == 0)
		err = why_set(why, -EPERM,
			"cannot write %s: its directory lets no file be removed or replaced; "
			"remove %s and choose another place",
			path, part);
	else if (err < 0)
		fail(path, err, why);
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
	err = place_identify(&o->place, &o->tried);
	if (err < 0)
		fail(o->path, err, why);
	else if (o->place.kind == PLACE_NEW)
		err = try_new(o->path, &o->place, why);
	if (o->place.kind == PLACE_NEW || o->place.kind == PLACE_MOUNT)
		place_close(&o->place);
	return err;
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

	o->refused = 0;
	if (err < 0 && o->keep && place_open_beside(o->path, &o->place, &o->refusal) == 0) {
		o->refused = err;
		o->refusal = *why;
		err = 0;
	}
	if (err < 0)
		return err;
	o->writing = true;
	o->written = o->waited_ns = o->taken = 0;
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

/* When a FIFO's reader must have taken the next STALL_BYTES. Only the time of waiting counts. */
static uint64_t stall_end_ns(const struct output *o, uint64_t now)
{
	int stall_ms = o->stall_ms > 0 ? o->stall_ms : OUTPUT_STALL_MS;
	uint64_t stall_ns = (uint64_t)stall_ms * NSEC_PER_MSEC;

	return o->waited_ns < stall_ns ? now + stall_ns - o->waited_ns : now;
}

/* A descriptor of ours may be in non-blocking mode, too, and its reader may take its time: a pager
 * waits for a person. */
static int wait_for_reader(struct output *o)
{
	bool hurried = is_hurried(o);
	struct pollfd fds[] = { { .fd = o->fd, .events = POLLOUT },
		{ .fd = o->hurry && !hurried ? o->hurry->fd : -1, .events = POLLIN } };
	uint64_t began = clock_ns(CLOCK_MONOTONIC), now;
	uint64_t end = o->place.kind == PLACE_STREAM ? stall_end_ns(o, began) : CLOCK_NEVER_NS;
	int err;

	if (hurried)
		end = clock_sooner(end, o->hurry->end_ns);
	err = poll(fds, ARRAY_SIZE(fds), clock_wait_ms(began, end)) < 0 && errno != EINTR ? -errno
											  : 0;
	now = clock_ns(CLOCK_MONOTONIC);
	o->waited_ns += now - began;
	if (fds[1].revents)
		output_hurry(o->hurry);
	if (err < 0 || now < end)
		return err;
	return hurried ? -ECANCELED : -ETIMEDOUT;
}

static void note_written(struct output *o, size_t bytes)
{
	o->written += bytes;
	o->taken += bytes;
	if (o->taken >= STALL_BYTES)
		o->taken = o->waited_ns = 0;
	if (!is_hurried(o))
		return;
	o->hurry->taken += bytes;
	if (o->hurry->taken >= HURRY_BYTES)
		delay_end(o->hurry);
}

/* A descriptor may be in blocking mode, and others share it, so its mode stays: then write() waits
 * in the kernel until the next tick. */
static void set_ticks(const struct output *o, long us)
{
	const struct itimerval ticks = { .it_interval.tv_usec = us, .it_value.tv_usec = us };

	if (o->hurry && o->place.kind == PLACE_DESCRIPTOR)
		setitimer(ITIMER_REAL, &ticks, NULL);
}

static int write_all(struct output *o, const char *data, size_t len)
{
	int err = 0;

	set_ticks(o, TICK_US);
	while (err == 0 && len > 0) {
		ssize_t n = write(o->fd, data, len);

		if (n >= 0) {
			note_written(o, (size_t)n);
			data += n;
			len -= (size_t)n;
		} else {
			err = errno == EAGAIN || errno == EINTR ? wait_for_reader(o) : -errno;
		}
	}
	set_ticks(o, 0);
	return err;
}

static int write_packed(struct output *o, int err, const struct buf *packed, struct why *why)
{
	if (err < 0)
		return why_set(why, err, "cannot compress %s: %s", o->path, err_text(err));
	err = write_all(o, packed->data, packed->len);
	if (err == -ECANCELED)
		return why_set(why, err,
			"cannot write the rest %s%s: a signal came, and its reader takes nothing; "
			"it was given %llu bytes, and what follows them is lost",
			strcmp(o->path, "-") == 0 ? "" : "of ", place_text(o->path),
			(unsigned long long)o->written);
	return err < 0 ? fail(o->path, err, why) : 0;
}

int output_put(struct output *o, const struct buf *bytes, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	int err = compress_put(o->compress, bytes->data, bytes->len, &packed);

	return write_packed(o, err, &packed, why);
}

/* The file's path: the folder's may lead elsewhere by now. */
static void part_path(const struct new_file *file, char path[OUTPUT_PATH_MAX])
{
	char link[64], folder[OUTPUT_PATH_MAX - sizeof(file->part) - 1];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->dir);
	len = readlink(link, folder, sizeof(folder));
	if (len > 0)
		snprintf(path, OUTPUT_PATH_MAX, "%.*s/%s", (int)len, folder, file->part);
	else
		snprintf(path, OUTPUT_PATH_MAX, "%s in its directory", file->part);
}

/* A temporary file could be made in the folder, so the old file is the cause, or what has taken its
 * place since. */
static int name_file(struct output *o, struct why *why)
{
	const char *name = o->refused < 0 ? NULL : o->place.name;
	int err = new_file_commit(&o->file, name, o->sync ? NEW_FILE_SYNC : 0);
	char part[OUTPUT_PATH_MAX];

	if (err == 0 && o->refused == 0)
		return 0;
	if (!o->file.complete)
		return fail(o->path, err, why);
	if (o->refused < 0)
		*why = o->refusal;
	else
		why_set(why, err, "cannot write %s: the old file cannot be replaced: %s", o->path,
			err_text(err));
	if (o->keep) {
		part_path(&o->file, part);
		new_file_keep(&o->file);
		why_set(&o->refusal, 0, "%s", why->text);
		why_set(why, 0, "%.200s; what was to be written is in %s", o->refusal.text, part);
	}
	return o->refused < 0 ? o->refused : err;
}

int output_end(struct output *o, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	int err = compress_end(o->compress, &packed);

	err = write_packed(o, err, &packed, why);
	if (err < 0)
		return err;
	if (o->place.kind == PLACE_NEW)
		err = name_file(o, why);
	else if (close(TAKE_FD(o->place.fd)) < 0)
		err = fail(o->path, -errno, why);
	if (err < 0)
		return err;
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
	o->lost = file.lost;
	sink_file_done(&file);
	if (err < 0 && !out.refused)
		why_set(why, err, "cannot write %s: %s", place_text(o->path), err_text(err));
	if (err == 0)
		err = output_end(o, why);
	if (err < 0)
		output_abort(o);
	return err;
}

int output_write_path(const char *path, struct output_hurry *hurry, const struct buf *bytes,
	struct why *why)
{
	struct output output = { .pattern = path, .as_is = true, .hurry = hurry };

	return output_write(&output, bytes, why);
}
