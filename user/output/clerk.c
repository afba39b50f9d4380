/* SPDX-License-Identifier: Apache-2.0 */
/* output/clerk.c - the clerk serves orders (base/orders.h). The bytes to write are in a file in
 * memory, which it has from its start, so an order may have any number of them and no process with
 * our user can keep us from sending one. The two ends are one program and trust each other. It ends
 * with the socket: it removes an unfinished file, or turns perf maps off, also when its caller is
 * killed. */
#include "output/clerk.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/orders.h"
#include "output/bundle.h"
#include "output/jit_sessions.h"
#include "sink/sink.h"
#include "worker/filter.h"
#include "worker/worker.h"

#define MEANWHILE_MS 200

enum kind {
	WRITE_BEGIN,
	WRITE_FILE,
	MAKE_FOLDER,
	WRITE_ARCHIVE,
	WRITE_PIECE,
	WRITE_END,
	WRITE_ABORT,
	WRITE_STATS,
	WRITE_CHECK,
	HURRY,
	JIT_START,
	JIT_REFRESH,
	JIT_MEET,
};

struct order {
	uint32_t kind;
	uint32_t file; /* of a bundle */
	uint32_t pid;
	uint32_t bytes; /* 1: there are some in the memory */
	uint64_t account;
	time_t when;
};

struct answer {
	int err;
	struct why why;
	char path[OUTPUT_PATH_MAX];
	struct jit_stats jit;
};

struct serving {
	const struct clerk_options *options;
	int memory;
	struct output output;
	struct output_hurry hurry;
	struct jit_sessions jit;
	char file[OUTPUT_PATH_MAX]; /* of a bundle */
};

/* ---- the clerk ----------------------------------------------------------------------------- */

static int begin_file(struct serving *s, const struct order *order, struct answer *answer)
{
	const struct bundle_file *file = bundle_file(order->file);

	if (!file)
		return why_set(&answer->why, -EPROTO, "a bundle has no such file");
	snprintf(s->file, sizeof(s->file), "%s/%s", s->options->bundle, file->name);
	s->output = (struct output){ .pattern = s->file,
		.plain = true,
		.keep = true,
		.hurry = &s->hurry,
		.gzip = (sink_find(file->format)->needs & SINK_GZIP) != 0,
		.fd = -1 };
	return output_begin(&s->output, order->when, &answer->why);
}

/* A file has a beginning, pieces and an end. The agent may have been taken over. */
static bool is_due(const struct serving *s, uint32_t kind)
{
	switch (kind) {
	case WRITE_BEGIN:
	case WRITE_FILE:
		return !s->output.writing;
	case WRITE_PIECE:
	case WRITE_END:
		return s->output.writing;
	default:
		return true;
	}
}

static int obey(struct serving *s, const struct order *order, const struct buf *bytes,
	struct answer *answer)
{
	const struct clerk_options *o = s->options;
	int err = 0;

	if (!is_due(s, order->kind))
		return why_set(&answer->why, -EPROTO,
			"a part of a file that was not begun, or two "
			"files at once");
	switch (order->kind) {
	case WRITE_BEGIN:
		err = output_begin(&s->output, order->when, &answer->why);
		memcpy(answer->path, s->output.path, sizeof(answer->path));
		return err;
	case WRITE_FILE:
		err = begin_file(s, order, answer);
		memcpy(answer->path, s->output.path, sizeof(answer->path));
		return err;
	case MAKE_FOLDER:
		return bundle_make(o->bundle, &answer->why);
	case WRITE_ARCHIVE:
		return bundle_pack(o->bundle, order->when, &answer->why);
	case WRITE_PIECE:
		return output_put(&s->output, bytes, &answer->why);
	case WRITE_END:
		return output_end(&s->output, &answer->why);
	case WRITE_ABORT:
		output_abort(&s->output);
		return 0;
	case WRITE_STATS:
		return output_write_path(o->stats_path, &s->hurry, bytes, &answer->why);
	case WRITE_CHECK:
		return output_write_path(o->check_path, &s->hurry, bytes, &answer->why);
	}
	return -EPROTO;
}

static int obey_call(void *ctx, struct orders_call *call)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct serving *s = ctx;
	const struct order *order = call->order;
	struct answer *answer = call->answer;

	if (order->bytes)
		answer->err = lseek(s->memory, 0, SEEK_SET) < 0
			? -errno
			: fd_read_all(s->memory, SIZE_MAX, &bytes);
	answer->err = answer->err < 0
		? why_set(&answer->why, answer->err, "cannot read the profile to write: %s",
			  err_text(answer->err))
		: obey(s, order, &bytes, answer);
	if (answer->err < 0)
		output_abort(&s->output);
	return 0;
}

/* A wait for a reader saw it come. */
static int obey_hurry(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;

	(void)call;
	output_hurry(&s->hurry);
	return ORDERS_SILENT;
}

static const struct orders_row rows[] = {
	[WRITE_BEGIN... WRITE_CHECK] = { ORDERS_OWNER, obey_call },
	[HURRY] = { ORDERS_OWNER, obey_hurry },
};

/* ---- the clerk of perf maps ------------------------------------------------------------------ */

static int obey_start(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	const struct clerk_options *o = s->options;
	struct answer *answer = call->answer;

	for (size_t i = 0; i < o->jit_pids_len; i++)
		jit_sessions_meet(&s->jit, o->jit_pids[i], JIT_SESSIONS_NAMED);
	answer->jit = s->jit.stats;
	return 0;
}

static int obey_refresh(void *ctx, struct orders_call *call)
{
	struct serving *s = ctx;
	struct answer *answer = call->answer;

	jit_sessions_refresh(&s->jit);
	answer->jit = s->jit.stats;
	return 0;
}

static int obey_meet(void *ctx, struct orders_call *call)
{
	const struct order *order = call->order;
	struct serving *s = ctx;

	jit_sessions_meet(&s->jit, order->pid, order->account);
	return ORDERS_SILENT;
}

static const struct orders_row jit_rows[] = {
	[JIT_START] = { ORDERS_OWNER, obey_start },
	[JIT_REFRESH] = { ORDERS_OWNER, obey_refresh },
	[JIT_MEET] = { ORDERS_OWNER, obey_meet },
};

static int serve_jit(const struct clerk_options *options, int fd)
{
	struct serving s = { .options = options };
	struct orders orders = { .rows = jit_rows,
		.rows_len = ARRAY_SIZE(jit_rows),
		.order_bytes = sizeof(struct order),
		.answer_bytes = sizeof(struct answer),
		.ctx = &s };

	jit_sessions_begin(&s.jit, options->jit_notes, options->log);
	orders_serve(&orders, fd);
	jit_sessions_end(&s.jit);
	return 0;
}

int clerk_serve_jit(const struct clerk_options *options, int fd)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (filter_deny(FILTER_DENY_KERNEL | FILTER_DENY_BPF | FILTER_DENY_EVENTS) < 0)
		return WORKER_EXIT_SANDBOX;
	return serve_jit(options, fd);
}

static int run_jit(void *ctx, int fd)
{
	const struct serving *s = ctx;

	return clerk_serve_jit(s->options, fd);
}

/* ---- the clerk that writes ------------------------------------------------------------------- */

static int run_clerk(void *ctx, int fd)
{
	struct serving s = *(const struct serving *)ctx;
	struct orders orders = { .rows = rows,
		.rows_len = ARRAY_SIZE(rows),
		.order_bytes = sizeof(struct order),
		.answer_bytes = sizeof(struct answer),
		.ctx = &s };

	/* A capture's user may be had by others, and the clerk has its starter's socket. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	output_hurry_init(&s.hurry, fd);
	s.output.hurry = &s.hurry;
	if (filter_deny(FILTER_DENY_KERNEL | FILTER_DENY_BPF | FILTER_DENY_EVENTS) < 0)
		return WORKER_EXIT_SANDBOX;
	orders_serve(&orders, fd);
	output_abort(&s.output);
	return 0;
}

/* ---- before it starts ----------------------------------------------------------------------- */

static int refuse_same(const char *one, const char *other, const char *path, struct why *why)
{
	return why_set(why, -EINVAL, "%s and %s are the same file: %s; choose another name for one",
		one, other, path);
}

static int compare(const struct clerk_options *o, const struct clerk_tried *t, struct why *why)
{
	const struct place_id *stats = &t->stats.tried;

	if (!o->stats_path)
		return 0;
	if (!o->bundle && place_clashes(&t->profile.tried, stats))
		return refuse_same("-o", "--stats", o->stats_path, why);
	if (o->bundle && bundle_has(o->bundle, stats))
		return refuse_same("a file of --bundle", "--stats", o->stats_path, why);
	if (o->check_path && place_clashes(&t->check.tried, stats))
		return refuse_same("the file of --check", "--stats", o->stats_path, why);
	return 0;
}

int clerk_try(const struct clerk_options *o, struct clerk_tried *t, struct why *why)
{
	const enum place_kind *kind = &t->profile.tried.kind;
	int err;

	*t = (struct clerk_tried){ .profile.pattern = o->pattern,
		.stats = { .pattern = o->stats_path, .as_is = true },
		.check = { .pattern = o->check_path, .as_is = true } };
	err = o->bundle ? 0 : output_try(&t->profile, why);
	if (err == 0 && o->stats_path)
		err = output_try(&t->stats, why);
	if (err == 0 && o->check_path && *kind != PLACE_NEW && *kind != PLACE_MOUNT)
		err = why_set(why, -EINVAL,
			"--check needs -o FILE that is a regular file, to write %s beside it; %s "
			"is none",
			o->check_path, o->pattern);
	if (err == 0 && o->check_path)
		err = output_try(&t->check, why);
	return err < 0 ? err : compare(o, t, why);
}

void clerk_tried_close(struct clerk_tried *t)
{
	output_abort(&t->profile);
	output_abort(&t->stats);
	output_abort(&t->check);
}

/* ---- its caller ----------------------------------------------------------------------------- */

/* It has the standard files alone: other descriptors of ours would last as long as it does. */
int clerk_open_jit(struct clerk *clerk, const struct clerk_options *options, struct why *why)
{
	struct serving s = { .options = options };
	const struct child_plan plan = { .run = run_jit,
		.ctx = &s,
		.name = "stoker-maps",
		.fds = child_standard,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.death_signal = SIGCONT,
		.limited = geteuid() != 0 };
	int err = child_start(&plan, &clerk->child);

	return err < 0 ? why_set(why, err, "cannot start the process that turns perf maps on: %s",
				 err_text(err))
		       : 0;
}

int clerk_open(struct clerk *clerk, const struct clerk_options *options, struct why *why)
{
	_cleanup_fd_ int memory = fd_memory("profile");
	struct serving s = { .options = options,
		.memory = memory,
		.output = { .pattern = options->pattern,
			.gzip = options->gzip,
			.keep = options->keep,
			.fd = -1 } };
	const struct child_plan plan = { .run = run_clerk,
		.ctx = &s,
		.name = "stoker-clerk",
		.socket = true,
		.death_signal = SIGCONT,
		.limited = geteuid() != 0,
		.nice = SAMPLING_NICE };
	int err = memory < 0 ? memory : child_start(&plan, &clerk->child);

	if (err < 0)
		return why_set(why, err, "cannot start the process that writes files: %s",
			err_text(err));
	clerk->memory = TAKE_FD(memory);
	return 0;
}

bool clerk_is_lost(const struct clerk *clerk)
{
	struct pollfd gone = { .fd = clerk->child.fd };

	return clerk->child.fd >= 0 && poll(&gone, 1, 0) == 1;
}

void clerk_hurry(struct clerk *clerk)
{
	const struct order order = { .kind = HURRY };

	if (!clerk->hurried)
		orders_send(clerk->child.fd, &order, sizeof(order), -1);
	clerk->hurried = true;
}

/* Writing may take long, and no sample may be lost meanwhile. */
static int call_meanwhile(struct clerk *clerk, bool ready)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err;

	if (!clerk->meanwhile || (!ready && now < clerk->due_ns))
		return 0;
	clerk->due_ns = now + MEANWHILE_MS * NSEC_PER_MSEC;
	err = clerk->meanwhile(clerk->ctx);
	if (err < 0)
		clerk->meanwhile = NULL;
	return err;
}

/* Until there is an answer, or none will come. A signal is left for others to read. Returns the
 * error of meanwhile. */
static int await_answer(struct clerk *clerk)
{
	int err = 0;

	for (;;) {
		struct pollfd fds[] = { { .fd = clerk->child.fd, .events = POLLIN },
			{ .fd = clerk->hurried ? -1 : clerk->signals, .events = POLLIN },
			{ .fd = clerk->meanwhile ? clerk->events : -1, .events = POLLIN } };
		int n = poll(fds, ARRAY_SIZE(fds), clerk->meanwhile ? MEANWHILE_MS : -1), failed;

		if (n < 0 && errno != EINTR)
			return err;
		if (n > 0 && fds[1].revents)
			clerk_hurry(clerk);
		failed = call_meanwhile(clerk, n > 0 && fds[2].revents);
		if (failed < 0)
			err = failed;
		if (n > 0 && fds[0].revents)
			return err;
	}
}

void clerk_close(struct clerk *clerk)
{
	child_close(&clerk->child, NULL);
	fd_close(&clerk->memory);
}

/* bytes: go with the order; NULL: none. */
static int ask_for(struct clerk *clerk, const struct order *what, const struct buf *bytes,
	struct answer *answer, struct why *why)
{
	_cleanup_fd_ int none = -1;
	struct order order = *what;
	int err = bytes ? fd_rewrite(clerk->memory, bytes->data, bytes->len) : 0;
	int failed = 0;

	if (err < 0)
		return why_set(why, err,
			"cannot hand the profile to the process that writes files: %s",
			fd_memory_text(err));
	order.bytes = bytes != NULL;
	err = orders_send(clerk->child.fd, &order, sizeof(order), -1);
	if (err == 0)
		failed = await_answer(clerk);
	if (err == 0)
		err = orders_answer(clerk->child.fd, answer, sizeof(*answer), &none);
	if (bytes)
		(void)!ftruncate(clerk->memory, 0);
	if (err != 0)
		return why_set(why, err, "the process that writes files was lost");
	if (answer->err < 0)
		*why = answer->why;
	if (answer->err == 0 && failed < 0)
		return why_set(why, failed, "sampling stopped: %s", err_text(failed));
	return answer->err;
}

/* path: gets the answer's; NULL: none. */
static int ask(struct clerk *clerk, const struct order *what, const struct buf *bytes, char *path,
	struct why *why)
{
	struct answer answer = { .err = 0 };
	int err = ask_for(clerk, what, bytes, &answer, why);

	if (path && answer.err == 0 && answer.path[0])
		memcpy(path, answer.path, sizeof(answer.path));
	return err;
}

int clerk_begin(struct clerk *clerk, time_t when, char path[OUTPUT_PATH_MAX], struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_BEGIN, .when = when }, NULL, path, why);
}

int clerk_begin_file(
	struct clerk *clerk, uint32_t i, time_t when, char path[OUTPUT_PATH_MAX], struct why *why)
{
	const struct order order = { .kind = WRITE_FILE, .when = when, .file = i };

	return ask(clerk, &order, NULL, path, why);
}

int clerk_pack(struct clerk *clerk, time_t when, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_ARCHIVE, .when = when }, NULL, NULL, why);
}

int clerk_make_folder(struct clerk *clerk, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = MAKE_FOLDER }, NULL, NULL, why);
}

int clerk_put(struct clerk *clerk, const struct buf *bytes, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_PIECE }, bytes, NULL, why);
}

int clerk_end(struct clerk *clerk, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_END }, NULL, NULL, why);
}

int clerk_abort(struct clerk *clerk, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_ABORT }, NULL, NULL, why);
}

int clerk_write_stats(struct clerk *clerk, const struct buf *bytes, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_STATS }, bytes, NULL, why);
}

int clerk_write_check(struct clerk *clerk, const struct buf *bytes, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = WRITE_CHECK }, bytes, NULL, why);
}

int clerk_jit_start(struct clerk *clerk, struct why *why)
{
	return ask(clerk, &(struct order){ .kind = JIT_START }, NULL, NULL, why);
}

/* Without waiting. */
static int send_now(struct clerk *clerk, const struct order *order)
{
	struct pollfd room = { .fd = clerk->child.fd, .events = POLLOUT };

	if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
		return -EAGAIN;
	return orders_send(clerk->child.fd, order, sizeof(*order), -1);
}

int clerk_jit_meet(struct clerk *clerk, uint32_t pid, uint64_t account)
{
	return send_now(clerk, &(struct order){ .kind = JIT_MEET, .pid = pid, .account = account });
}

int clerk_jit_refresh(struct clerk *clerk, struct jit_stats *stats, struct why *why)
{
	struct answer answer = { .err = 0 };
	int err = ask_for(clerk, &(struct order){ .kind = JIT_REFRESH }, NULL, &answer, why);

	if (err == 0)
		*stats = answer.jit;
	return err;
}

int clerk_jit_begin_refresh(struct clerk *clerk)
{
	return send_now(clerk, &(struct order){ .kind = JIT_REFRESH });
}

int clerk_jit_hear(struct clerk *clerk, struct jit_stats *stats)
{
	struct answer answer;
	int err = fd_take(clerk->child.fd, MSG_DONTWAIT, &answer, sizeof(answer), NULL);

	if (err == 0)
		*stats = answer.jit;
	return err;
}
