/* SPDX-License-Identifier: Apache-2.0 */
/* files/java_codes.c - codes of one process are read together, as methods and names are in many of
 * them. The bytes are not looked at here, but for what proves a code. */
#include "files/java_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "client/client.h"
#include "client/methods.h"
#include "client/opener_call.h"
#include "files/java_tables.h"
#include "files/processes.h"
#include "language/java_image.h"
#include "language/java_reply.h"
#include "sampler/tally.h"

#define QUEUE_MAX 4096
#define TRIES_MAX 3
#define TOGETHER_NS (20 * NSEC_PER_MSEC) /* codes that are met meanwhile are read at once */
#define RUN_NS (20 * NSEC_PER_MSEC)
#define AGAIN_NS (200 * NSEC_PER_MSEC)
#define WAIT_NS NSEC_PER_SEC
#define BATCH_MAX 16
#define ROUNDS_MAX 16
#define TIME_MAX_NS (2 * NSEC_PER_SEC)
#define TIME_PART 500 /* of the time that passes is given back */

struct pending {
	struct opener_process process;
	uint32_t id, tries;
	struct java_wanted code;
};

struct java_codes {
	struct processes *processes;
	struct worker_client *worker;
	struct tally *tally;
	size_t seen; /* of its codes */
	struct java_tables *tables;
	VEC(struct pending) queue;
	struct hash queued; /* ids */
	struct share_debt spent;
	uint64_t due_ns;
	struct java_codes_stats stats;
	uint64_t until_ns; /* of the batch that is read */
};

int java_codes_new(struct processes *processes, struct worker_client *worker, struct tally *tally,
	struct java_codes **out)
{
	struct java_codes *codes = calloc(1, sizeof(*codes));
	int err = codes ? java_tables_new(&codes->tables) : -ENOMEM;

	if (err < 0) {
		free(codes);
		return err;
	}
	codes->tally = tally;
	codes->processes = processes;
	codes->worker = worker;
	codes->due_ns = CLOCK_NEVER_NS;
	codes->spent.since_ns = clock_ns(CLOCK_MONOTONIC);
	*out = codes;
	return 0;
}

void java_codes_free(struct java_codes *codes)
{
	if (!codes)
		return;
	vec_done(&codes->queue);
	hash_done(&codes->queued);
	share_debt_done(&codes->spent);
	java_tables_free(codes->tables);
	free(codes);
}

/* ---- what waits ------------------------------------------------------------------------------ */

static int put(struct java_codes *codes, const struct pending *pending)
{
	struct pending *slot = codes->queue.len < QUEUE_MAX ? vec_add(&codes->queue) : NULL;

	if (!slot)
		return -ENOSPC;
	if (hash_put(&codes->queued, pending->id, 1) < 0) {
		codes->queue.len--;
		return -ENOMEM;
	}
	*slot = *pending;
	return 0;
}

static void meet(struct java_codes *codes, const struct event_code *event)
{
	struct pending pending = { .process = { (pid_t)event->tgid, event->start_ns },
		.id = event->id,
		.code = { .method = event->method,
			.blob = event->blob,
			.compile_id = event->compile_id,
			.name_bytes = event->name_bytes,
			.class_bytes = event->file_bytes,
			.name_cut = event->name_cut,
			.class_cut = event->file_cut } };

	if (event->language != LANGUAGE_HOTSPOT || event->method == 0 ||
		event->name_bytes > CODE_NAME_BYTES || event->file_bytes > CODE_NAME_BYTES ||
		hash_find(&codes->queued, event->id) ||
		java_tables_know(codes->tables, event->id))
		return;
	memcpy(pending.code.name, event->name, event->name_bytes);
	memcpy(pending.code.class, event->file, event->file_bytes);
	if (put(codes, &pending) < 0)
		codes->stats.refused++;
	else if (codes->due_ns == CLOCK_NEVER_NS)
		codes->due_ns = clock_ns(CLOCK_MONOTONIC) + TOGETHER_NS;
}

static void meet_new(struct java_codes *codes)
{
	for (; codes->seen < codes->tally->codes.len; codes->seen++)
		meet(codes, codes->tally->codes.data[codes->seen].event);
}

/* Takes the first one, and others of its process. Their number. */
static size_t take_batch(struct java_codes *codes, struct pending out[BATCH_MAX])
{
	size_t len = 0, left = 0;

	for (size_t i = 0; i < codes->queue.len; i++) {
		const struct pending *pending = &codes->queue.data[i];

		if (len < BATCH_MAX &&
			(len == 0 ||
				(pending->process.pid == out[0].process.pid &&
					pending->process.start_ns == out[0].process.start_ns)))
			out[len++] = *pending;
		else
			codes->queue.data[left++] = *pending;
	}
	codes->queue.len = left;
	for (size_t i = 0; i < len; i++)
		hash_del(&codes->queued, out[i].id);
	return len;
}

void java_codes_next(struct java_codes *codes)
{
	if (!codes)
		return;
	java_tables_next(codes->tables);
	codes->seen = 0; /* others have their places, and those without a table get another try */
}

struct java_tables *java_codes_tables(const struct java_codes *codes)
{
	return codes ? codes->tables : NULL;
}

void java_codes_stats(const struct java_codes *codes, struct java_codes_stats *out)
{
	*out = codes ? codes->stats : (struct java_codes_stats){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct java_codes *codes;
	const struct java_layout *layout;
	const struct opener_process *process;
	struct pending *all;
	size_t len;
	VEC(struct java_range) ranges;
	struct buf bytes; /* what is in them */
	struct buf reply;
};

static void reading_done(struct reading *r)
{
	vec_done(&r->ranges);
	buf_done(&r->bytes);
	buf_done(&r->reply);
}

static int copy_some(const struct reading *r, const struct java_range *ranges, size_t len,
	struct buf *out)
{
	struct opening_range asked[OPENING_RANGES_MAX];
	_cleanup_fd_ int fd = -1;
	uint64_t bytes = out->len;
	int err;

	for (size_t i = 0; i < len; i++) {
		asked[i] = (struct opening_range){ ranges[i].start, ranges[i].end };
		bytes += ranges[i].end - ranges[i].start;
	}
	if (bytes > JAVA_IMAGE_BYTES_MAX)
		return -EFBIG;
	err = opener_call_memory(
		worker_client_call(r->codes->worker), r->process, asked, len, &fd);
	if (err == 0)
		err = fd_read_all(fd, bytes - out->len, out);
	return err == 0 && out->len != bytes ? -EBADMSG : err;
}

/* Appends copies of the ranges. */
static int copy_ranges(
	const struct reading *r, const struct java_range *ranges, size_t len, struct buf *out)
{
	int err = 0;

	for (size_t done = 0, some; done < len && err == 0; done += some) {
		if (clock_ns(CLOCK_MONOTONIC) >= r->codes->until_ns)
			return -EAGAIN;
		some = len - done < OPENING_RANGES_MAX ? len - done : OPENING_RANGES_MAX;
		err = copy_some(r, ranges + done, some, out);
	}
	return err;
}

static int want(struct reading *r, struct java_range range)
{
	struct java_range *slot = r->ranges.len < JAVA_RANGES_MAX ? vec_add(&r->ranges) : NULL;

	if (!slot)
		return -EFBIG;
	*slot = range;
	return 0;
}

/* The proofs of compiled codes come first, so that they are read before all that they lead to. */
static int want_proofs(struct reading *r)
{
	int err = 0;

	for (size_t i = 0; i < r->len && err == 0; i++)
		if (r->all[i].code.blob)
			err = want(r, java_proof_range(r->layout, r->all[i].code.blob));
	return err;
}

static int make_image(const struct reading *r, int *fd)
{
	const struct java_image_head head = { *r->layout, (uint32_t)r->len,
		(uint32_t)r->ranges.len };
	_cleanup_(buf_done) struct buf image = { .max_bytes = JAVA_IMAGE_BYTES_MAX };

	buf_put(&image, &head, sizeof(head));
	for (size_t i = 0; i < r->len; i++)
		buf_put(&image, &r->all[i].code, sizeof(r->all[i].code));
	buf_put(&image, r->ranges.data, r->ranges.len * sizeof(*r->ranges.data));
	buf_append(&image, &r->bytes);
	if (buf_err(&image) < 0)
		return buf_err(&image);
	return fd_in_memory("java", image.data, image.len, fd);
}

static int error_of(enum worker_status status)
{
	if (status == WORKER_OK)
		return 0;
	if (status == WORKER_TOO_LARGE || status == WORKER_MEMORY)
		return -EFBIG;
	return status == WORKER_LATE || status == WORKER_DOWN ? -EAGAIN : -EBADMSG;
}

static int ask(struct reading *r)
{
	_cleanup_fd_ int fd = -1;
	struct worker_methods methods = { .id = (uint64_t)r->process->pid, .codes_len = r->len };
	int err = make_image(r, &fd);

	if (err < 0)
		return err;
	methods.fd = fd;
	methods.until_ns = r->codes->until_ns;
	buf_clear(&r->reply);
	return error_of(worker_client_methods(r->codes->worker, &methods, &r->reply));
}

static const struct java_reply *reply_of(const struct reading *r)
{
	return (const struct java_reply *)r->reply.data;
}

/* Reads until the worker has tables of all. */
static int read_tables(struct reading *r)
{
	size_t done = 0;
	int err = want_proofs(r);

	for (int i = 0; i < ROUNDS_MAX && err == 0; i++) {
		const struct java_range *wants;

		if (clock_ns(CLOCK_MONOTONIC) >= r->codes->until_ns)
			return -EAGAIN;
		err = copy_ranges(r, r->ranges.data + done, r->ranges.len - done, &r->bytes);
		done = r->ranges.len;
		if (err == 0)
			err = ask(r);
		if (err < 0 || reply_of(r)->ranges_len == 0)
			return err;
		wants = java_reply_ranges(reply_of(r));
		for (uint32_t n = 0; n < reply_of(r)->ranges_len && err == 0; n++)
			err = want(r, wants[n]);
	}
	return err < 0 ? err : -EFBIG;
}

/* The bytes are two copies of the proof: one from before all others, and one from after them. */
static bool is_unchanged(const struct reading *r, const struct java_wanted *code, const void *first,
	const void *last, size_t len)
{
	return java_proves(r->layout, code, last, len) &&
		java_remained(r->layout, first, last, len);
}

/* Keeps the tables of codes that are still the same. */
static int keep_tables(struct reading *r, uint64_t account)
{
	_cleanup_(buf_done) struct buf proofs = BUF_INIT;
	struct java_codes_stats *stats = &r->codes->stats;
	size_t at = 0, offset = 0;
	int err;

	r->ranges.len = 0;
	err = want_proofs(r);
	if (err == 0)
		err = copy_ranges(r, r->ranges.data, r->ranges.len, &proofs);
	for (size_t i = 0; i < r->len && err == 0; i++) {
		const struct java_table *table = java_reply_next(reply_of(r), &at);
		const struct java_wanted *code = &r->all[i].code;
		struct java_range proof = java_proof_range(r->layout, code->blob);
		size_t len = code->blob ? (size_t)(proof.end - proof.start) : 0;

		if (code->blob && !is_unchanged(r, code, (const uint8_t *)r->bytes.data + offset,
					  (const uint8_t *)proofs.data + offset, len))
			table = NULL;
		offset += len;
		if (java_tables_keep(r->codes->tables, r->all[i].id, account, table) < 0)
			stats->refused++;
		else if (table)
			stats->read++;
		else
			stats->changed++;
	}
	return err;
}

static int read_codes(struct java_codes *codes, struct pending *all, size_t len)
{
	_cleanup_(reading_done) struct reading r = { .codes = codes,
		.process = &all[0].process,
		.all = all,
		.len = len,
		.bytes.max_bytes = JAVA_IMAGE_BYTES_MAX };
	uint64_t account = 0;
	int err;

	r.layout = processes_java(codes->processes, &all[0].process, &account);
	if (!r.layout || r.layout->block_bytes == 0)
		return -ENOTSUP;
	err = read_tables(&r);
	return err < 0 ? err : keep_tables(&r, account);
}

/* Some wait again; others will have no table. */
static void give_up(struct java_codes *codes, struct pending *all, size_t len, int err)
{
	uint64_t account = 0;

	(void)processes_java(codes->processes, &all[0].process, &account);
	for (size_t i = 0; i < len; i++) {
		if (err == -EAGAIN && ++all[i].tries < TRIES_MAX && put(codes, &all[i]) == 0)
			continue;
		codes->stats.failed++;
		(void)java_tables_keep(codes->tables, all[i].id, account, NULL);
	}
}

static void read_batch(struct java_codes *codes, struct pending *all, size_t len)
{
	int err = read_codes(codes, all, len);

	/* One of them may be very large. */
	for (size_t i = 0; i < len && err == -EFBIG && len > 1; i++) {
		int one = read_codes(codes, &all[i], 1);

		if (one < 0)
			give_up(codes, &all[i], 1, one);
	}
	if (err < 0 && (err != -EFBIG || len == 1))
		give_up(codes, all, len, err);
}

/* Did the account of these codes take more than it may? */
static bool owes(struct java_codes *codes, const struct pending *first, uint64_t *account)
{
	struct share_debt *spent = &codes->spent;

	(void)processes_java(codes->processes, &first->process, account);
	share_debt_pass(spent, TIME_PART, clock_ns(CLOCK_MONOTONIC));
	return share_owes_more(spent, *account, share_debt_level(spent, TIME_MAX_NS));
}

/* The account pays for the time of the opener and of the worker, too. */
static void run(struct java_codes *codes, uint64_t until_ns)
{
	struct pending batch[BATCH_MAX];
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC), account = 0;
	size_t len = take_batch(codes, batch);

	if (len == 0)
		return;
	if (owes(codes, &batch[0], &account)) {
		codes->stats.refused += len;
		return;
	}
	codes->until_ns = clock_sooner(until_ns, begun_ns + WAIT_NS);
	read_batch(codes, batch, len);
	/* Without memory it is nobody's. */
	(void)share_charge(&codes->spent.held, account, clock_ns(CLOCK_MONOTONIC) - begun_ns);
}

/* Those that wait again wait for something. */
static uint64_t next_due_ns(const struct java_codes *codes, uint64_t now_ns)
{
	if (codes->queue.len == 0)
		return CLOCK_NEVER_NS;
	return codes->queue.data[0].tries > 0 ? now_ns + AGAIN_NS : now_ns;
}

void java_codes_run(struct java_codes *codes, uint64_t now_ns)
{
	const uint64_t begun_ns = now_ns;

	if (!codes)
		return;
	meet_new(codes);
	while (now_ns >= codes->due_ns && now_ns < begun_ns + RUN_NS) {
		run(codes, CLOCK_NEVER_NS);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		codes->due_ns = next_due_ns(codes, now_ns);
	}
}

uint64_t java_codes_due_ns(const struct java_codes *codes)
{
	if (!codes)
		return CLOCK_NEVER_NS;
	return codes->seen < codes->tally->codes.len ? 0 : codes->due_ns;
}

void java_codes_finish(struct java_codes *codes, uint64_t until_ns)
{
	if (!codes)
		return;
	meet_new(codes);
	while (codes->queue.len > 0 && clock_ns(CLOCK_MONOTONIC) < until_ns)
		run(codes, until_ns);
	codes->due_ns = next_due_ns(codes, clock_ns(CLOCK_MONOTONIC));
}
