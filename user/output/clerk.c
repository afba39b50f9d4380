/* SPDX-License-Identifier: Apache-2.0 */
/* output/clerk.c - an order is a head and its bytes over a socket pair, and each has one answer.
 * The two ends are one program and trust each other's sizes. The end of the socket is the last
 * order.
 */
#include "output/clerk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "output/bundle.h"
#include "output/record_jit.h"
#include "sink/sink.h"

enum kind {
	WRITE_BEGIN,
	WRITE_FILE,
	MAKE_FOLDER,
	WRITE_ARCHIVE,
	WRITE_PIECE,
	WRITE_END,
	WRITE_ABORT,
	WRITE_STATS,
	JIT_START,
	JIT_REFRESH,
};

struct order {
	enum kind kind;
	time_t when;
	size_t size;
	uint32_t file; /* of a bundle */
};

struct answer {
	int err;
	struct why why;
	char path[OUTPUT_PATH_MAX];
};

struct serving {
	const struct clerk_options *options;
	struct output output;
	struct record_jit jit;
	struct answer answer;
	char file[OUTPUT_PATH_MAX]; /* of a bundle */
};

/* ---- the clerk ----------------------------------------------------------------------------- */

static int read_whole(int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = read(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int begin_file(struct serving *s, const struct order *order)
{
	const struct bundle_file *file = &bundle_files()[order->file];

	snprintf(s->file, sizeof(s->file), "%s/%s", s->options->bundle, file->name);
	s->output = (struct output){ .pattern = s->file,
		.plain = true,
		.gzip = (sink_find(file->format)->needs & SINK_GZIP) != 0,
		.fd = -1 };
	return output_begin(&s->output, order->when, &s->answer.why);
}

static int obey(struct serving *s, const struct order *order, struct buf *bytes)
{
	const struct clerk_options *o = s->options;
	int err = 0;

	switch (order->kind) {
	case WRITE_BEGIN:
		err = output_begin(&s->output, order->when, &s->answer.why);
		memcpy(s->answer.path, s->output.path, sizeof(s->answer.path));
		return err;
	case WRITE_FILE:
		err = begin_file(s, order);
		memcpy(s->answer.path, s->output.path, sizeof(s->answer.path));
		return err;
	case MAKE_FOLDER:
		return bundle_make(o->bundle, &s->answer.why);
	case WRITE_ARCHIVE:
		return bundle_pack(o->bundle, order->when, &s->answer.why);
	case WRITE_PIECE:
		return output_put(&s->output, bytes, &s->answer.why);
	case WRITE_END:
		return output_end(&s->output, &s->answer.why);
	case WRITE_ABORT:
		output_abort(&s->output);
		return 0;
	case WRITE_STATS:
		return output_write_path(o->stats_path, bytes, &s->answer.why);
	case JIT_START:
		err = record_jit_start(&s->jit, o->jit_pids, o->jit_pids_len, o->log);
		return err < 0 ? why_set(&s->answer.why, err, "%s", err_text(err)) : 0;
	case JIT_REFRESH:
		record_jit_refresh(&s->jit, o->log);
		return 0;
	}
	return 0;
}

/* False: that was all. */
static bool serve_one(struct serving *s, int fd)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct order order;
	char *room;

	if (read_whole(fd, &order, sizeof(order)) < 0 ||
		buf_reserve(&bytes, order.size + 1, &room) < 0 ||
		read_whole(fd, room, order.size) < 0)
		return false;
	buf_commit(&bytes, order.size);
	s->answer = (struct answer){ 0 };
	s->answer.err = obey(s, &order, &bytes);
	if (s->answer.err < 0)
		output_abort(&s->output);
	return fd_write_all(fd, &s->answer, sizeof(s->answer)) == 0;
}

_Noreturn static void become_clerk(const struct clerk_options *options, int fd)
{
	struct serving s = { .options = options,
		.output = { .pattern = options->pattern, .gzip = options->gzip, .fd = -1 } };

	prctl(PR_SET_NAME, "stoker-clerk");
	if (geteuid() != 0 && caps_limit(0) < 0)
		_exit(1);
	while (serve_one(&s, fd))
		;
	output_abort(&s.output);
	record_jit_stop(&s.jit, options->log);
	_exit(0);
}

/* ---- its caller ----------------------------------------------------------------------------- */

int clerk_open(struct clerk *clerk, const struct clerk_options *options, struct why *why)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return why_set(why, -errno, "cannot begin: %s", err_text(errno));
	pid = fork();
	if (pid == 0) {
		fd_close(&pair[0]);
		become_clerk(options, pair[1]);
	}
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return why_set(why, -EAGAIN, "cannot begin: %s", err_text(EAGAIN));
	}
	*clerk = (struct clerk){ .pid = pid, .fd = pair[0] };
	return 0;
}

void clerk_close(struct clerk *clerk)
{
	fd_close(&clerk->fd);
	if (clerk->pid == 0)
		return;
	while (waitpid(clerk->pid, NULL, 0) < 0 && errno == EINTR)
		;
	clerk->pid = 0;
}

static int ask(struct clerk *clerk, const struct order *order, const struct buf *bytes,
	struct answer *answer, struct why *why)
{
	int err = fd_write_all(clerk->fd, order, sizeof(*order));

	if (err == 0 && order->size > 0)
		err = fd_write_all(clerk->fd, bytes->data, order->size);
	if (err == 0)
		err = read_whole(clerk->fd, answer, sizeof(*answer));
	if (err != 0)
		return why_set(why, err, "the process that writes files was lost");
	if (answer->err < 0)
		*why = answer->why;
	return answer->err;
}

int clerk_begin(struct clerk *clerk, time_t when, char path[OUTPUT_PATH_MAX], struct why *why)
{
	const struct order order = { .kind = WRITE_BEGIN, .when = when };
	struct answer answer;
	int err = ask(clerk, &order, NULL, &answer, why);

	if (err == 0)
		memcpy(path, answer.path, sizeof(answer.path));
	return err;
}

int clerk_begin_file(
	struct clerk *clerk, uint32_t i, time_t when, char path[OUTPUT_PATH_MAX], struct why *why)
{
	const struct order order = { .kind = WRITE_FILE, .when = when, .file = i };
	struct answer answer;
	int err = ask(clerk, &order, NULL, &answer, why);

	if (err == 0)
		memcpy(path, answer.path, sizeof(answer.path));
	return err;
}

int clerk_pack(struct clerk *clerk, time_t when, struct why *why)
{
	struct answer answer;

	return ask(
		clerk, &(struct order){ .kind = WRITE_ARCHIVE, .when = when }, NULL, &answer, why);
}

int clerk_make_folder(struct clerk *clerk, struct why *why)
{
	struct answer answer;

	return ask(clerk, &(struct order){ .kind = MAKE_FOLDER }, NULL, &answer, why);
}

int clerk_put(struct clerk *clerk, const struct buf *bytes, struct why *why)
{
	const struct order order = { .kind = WRITE_PIECE, .size = bytes->len };
	struct answer answer;

	return ask(clerk, &order, bytes, &answer, why);
}

int clerk_end(struct clerk *clerk, struct why *why)
{
	struct answer answer;

	return ask(clerk, &(struct order){ .kind = WRITE_END }, NULL, &answer, why);
}

int clerk_abort(struct clerk *clerk, struct why *why)
{
	struct answer answer;

	return ask(clerk, &(struct order){ .kind = WRITE_ABORT }, NULL, &answer, why);
}

int clerk_write_stats(struct clerk *clerk, const struct buf *bytes, struct why *why)
{
	const struct order order = { .kind = WRITE_STATS, .size = bytes->len };
	struct answer answer;

	return ask(clerk, &order, bytes, &answer, why);
}

int clerk_jit_start(struct clerk *clerk, struct why *why)
{
	struct answer answer;

	return ask(clerk, &(struct order){ .kind = JIT_START }, NULL, &answer, why);
}

int clerk_jit_refresh(struct clerk *clerk, struct why *why)
{
	struct answer answer;

	return ask(clerk, &(struct order){ .kind = JIT_REFRESH }, NULL, &answer, why);
}
