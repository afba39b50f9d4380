/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/keeper.c - an order (base/orders.h) is about an interval in a file in memory, which the
 * keeper has from its start, so a slow disk does not delay the daemon, and no process with our user
 * can keep us from sending one. Each order has one answer, the status. The keeper ends with the
 * socket. The daemon keeps an order until it is answered, so a keeper that is killed loses nothing:
 * the next one gets the order again, and sees by the segment's id whether it was done. */
#include "daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/heap.h"
#include "base/orders.h"
#include "output/place.h"
#include "store/compact.h"
#include "store/store.h"
#include "worker/filter.h"
#include "worker/worker.h"

#define LABEL_MAX 256
#define BYTES_MAX (1UL << 30)
/* Hours that are compacted after one interval: after a long pause the keeper catches up slowly. */
#define RUNS_AT_ONCE 2
#define LOCK_WAIT_NS (2 * NSEC_PER_SEC)
#define LOCK_POLL_MS 50
/* How long an answer may take before the keeper is looked at, and where somebody waits for it. */
#define ANSWER_NS (10 * NSEC_PER_SEC)
#define HURRY_NS (NSEC_PER_SEC / 4)
#define END_MS 500
/* An interval is given up when this many keepers were lost over it. */
#define TRIES_MAX 3

enum { ORDER_PUT };

struct keeper_kind {
	char name[PROFILE_UNIT_MAX], unit[PROFILE_UNIT_MAX];
	uint64_t period_ns;
	size_t text_bytes;
};

struct keeper_order {
	uint32_t kind;
	uint32_t hz;
	struct retention retention;
	char host[LABEL_MAX], by[LABEL_MAX];
	uint64_t id, start_ns, end_ns;
	size_t account_bytes, text_bytes; /* in the file, in this order; then the kinds' texts */
	uint32_t kinds_len;
	struct keeper_kind kinds[KEEPER_KINDS_MAX];
};

struct keeping {
	const char *path;
	struct store *store; /* NULL: lost; opened again at the next interval */
	struct log *log;
	int foreign_fd; /* to close, or -1 */
	int memory;
	struct keeper_status status;
};

/* ---- the keeper ----------------------------------------------------------------------------- */

static int open_store(struct keeping *k, struct why *why)
{
	struct store_report report = { 0 };
	_cleanup_fd_ int dir = -1;
	int err = place_open_store(k->path, true, &dir, why);

	if (err == 0)
		err = store_open(dir, k->path, STORE_WRITE, &k->store, &report, why);
	if (err < 0)
		return err;
	k->status.damaged += report.damaged;
	if (report.damaged > 0)
		log_warn(k->log, "%s: %u damaged files were put into damaged/, the last is %s: %s",
			k->path, report.damaged, report.last, report.why.text);
	if (report.beyond > 0)
		log_warn(k->log, "%s: %u profiles beyond the newest %u were removed", k->path,
			report.beyond, STORE_SEGMENTS_MAX);
	return 0;
}

/* A daemon that was killed may have left a keeper that still writes its last interval. */
static int open_first(struct keeping *k, struct why *why)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + LOCK_WAIT_NS;
	int err;

	while ((err = open_store(k, why)) == -EBUSY && clock_ns(CLOCK_MONOTONIC) < until)
		poll(NULL, 0, LOCK_POLL_MS);
	return err;
}

static void expire(struct keeping *k, const struct retention *r, uint64_t now)
{
	size_t len = retention_expired(r, k->store, now);

	while (len-- > 0 && store_drop(k->store, 0) == 0)
		k->status.expired++;
}

static void compact(struct keeping *k, const struct retention *r, uint64_t now)
{
	struct retention_run run;
	struct why why;
	size_t bad;

	for (int i = 0; i < RUNS_AT_ONCE; i++) {
		int err;

		if (!retention_find_run(r, k->store, now, &run))
			return;
		err = compact_run(k->store, &run, &bad, &why);
		if (err == 0) {
			k->status.compacted += run.len;
			continue;
		}
		log_warn(k->log, "%s: %s", k->path, why.text);
		if (err != -EBADMSG)
			return;
		k->status.damaged++;
		store_set_aside(k->store, bad);
	}
}

static void count_store(struct keeping *k)
{
	size_t len = k->store ? store_len(k->store) : 0;

	k->status.segments = len;
	k->status.bytes = k->store ? store_bytes(k->store) : 0;
	k->status.oldest_ns = len > 0 ? store_entry(k->store, 0)->start_ns : 0;
	k->status.newest_ns = len > 0 ? store_entry(k->store, len - 1)->end_ns : 0;
}

/* The file in memory: account, text, texts of kinds. */
static int read_order(const struct keeper_order *o, int fd, struct buf *out)
{
	size_t bytes = o->account_bytes + o->text_bytes;
	int err;

	if (o->account_bytes > BYTES_MAX || o->text_bytes > BYTES_MAX ||
		o->kinds_len > KEEPER_KINDS_MAX)
		return -EFBIG;
	for (uint32_t i = 0; i < o->kinds_len; i++) {
		if (o->kinds[i].text_bytes > BYTES_MAX)
			return -EFBIG;
		bytes += o->kinds[i].text_bytes;
	}
	/* A lost keeper may have read some of it. */
	err = lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(fd, bytes, out);
	return err == 0 && out->len != bytes ? -EIO : err;
}

static int make_segment(const struct keeper_order *o, int fd, struct buf *out)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(freep) char *account = NULL;
	struct segment_kind kinds[KEEPER_KINDS_MAX];
	struct segment_about about = { .host = o->host,
		.by = o->by,
		.id = o->id,
		.start_ns = o->start_ns,
		.end_ns = o->end_ns,
		.hz = o->hz,
		.kinds = kinds,
		.kinds_len = o->kinds_len };
	struct bytes text;
	struct cursor c;
	int err = read_order(o, fd, &bytes);

	if (err < 0)
		return err;
	c = cursor_init(bytes.data, bytes.len);
	cursor_skip(&c, o->account_bytes);
	text = cursor_bytes(&c, o->text_bytes);
	for (uint32_t i = 0; i < o->kinds_len; i++)
		kinds[i] = (struct segment_kind){ .name = o->kinds[i].name,
			.unit = o->kinds[i].unit,
			.period_ns = o->kinds[i].period_ns,
			.text = cursor_bytes(&c, o->kinds[i].text_bytes) };
	account = strndup(bytes.data ? bytes.data : "", o->account_bytes);
	if (!account)
		return -ENOMEM;
	about.account = account;
	return segment_write(&about, text, out);
}

/* A lost keeper may have written the segment and sent no answer. */
static bool is_there(const struct store *store, uint64_t id)
{
	for (size_t i = store_len(store); i-- > 0;)
		if (store_entry(store, i)->id == id)
			return true;
	return false;
}

static int put_profile(struct keeping *k, const struct keeper_order *o, int fd, struct why *why)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct bytes packed;
	int err = make_segment(o, fd, &bytes);

	packed = (struct bytes){ (const uint8_t *)bytes.data, bytes.len };
	if (err < 0)
		return why_set(why, err, "cannot pack the profile: %s", err_text(err));
	if (!k->store)
		err = open_first(k, why);
	if (err < 0 || is_there(k->store, o->id))
		return err;
	err = store_put(k->store, packed, why);
	if (err != STORE_GONE)
		return err;
	/* Perhaps there is another directory of that name. */
	store_free(k->store);
	k->store = NULL;
	err = open_store(k, why);
	if (err == 0)
		err = store_put(k->store, packed, why);
	return err == STORE_GONE ? -ENOENT : err;
}

static int obey(void *ctx, struct orders_call *call)
{
	struct keeping *k = ctx;
	struct keeper_order *o = call->order;
	uint64_t now = clock_ns(CLOCK_REALTIME);

	/* Room first: old segments may fill the disk. */
	if (k->store)
		expire(k, &o->retention, now);
	k->status.err = put_profile(k, o, k->memory, &k->status.why);
	if (k->status.err < 0)
		k->status.failed++;
	else
		k->status.written++;
	if (k->store) {
		expire(k, &o->retention, now);
		compact(k, &o->retention, now);
	}
	count_store(k);
	memcpy(call->answer, &k->status, sizeof(k->status));
	return 0;
}

static int run_keeper(void *ctx, int fd)
{
	static const struct orders_row rows[] = { [ORDER_PUT] = { ORDERS_OWNER, obey } };
	struct keeping *k = ctx;
	struct orders orders = { .rows = rows,
		.rows_len = ARRAY_SIZE(rows),
		.order_bytes = sizeof(struct keeper_order),
		.answer_bytes = sizeof(struct keeper_status),
		.ctx = k };

	if (k->store)
		fd_close(&k->foreign_fd);
	else
		k->memory = CHILD_STANDARD; /* and all others are closed */
	if (filter_deny(FILTER_DENY_ALL_BUT_FILES) < 0)
		return WORKER_EXIT_SANDBOX;
	heap_give_back();
	orders_serve(&orders, fd);
	store_free(k->store);
	return 0;
}

/* ---- its caller ----------------------------------------------------------------------------- */

static int start_keeper(struct keeping *k, struct child *child)
{
	const int fds[] = { child_standard[0], child_standard[1], child_standard[2], k->memory };
	const struct child_plan plan = { .run = run_keeper,
		.ctx = k,
		.name = "stoker-keeper",
		.fds = k->store ? NULL : fds, /* the store has descriptors of its own */
		.fds_len = ARRAY_SIZE(fds),
		.socket = true,
		.death_signal = SIGCONT,
		.limited = true,
		.nice = SAMPLING_NICE };

	return child_start(&plan, child);
}

int keeper_open(struct keeper *keeper, const char *path, int foreign_fd, struct log *log,
	struct keeper_status *status, struct why *why)
{
	_cleanup_(freep) struct keeper_order *order = calloc(1, sizeof(*order));
	_cleanup_fd_ int memory = fd_memory("interval");
	struct keeping k = {
		.path = path, .log = log, .foreign_fd = foreign_fd, .memory = memory
	};
	struct child child;
	int err = open_first(&k, why);

	/* The next interval is tried anew. */
	if (err_unwritable(err) && access(path, F_OK) == 0) {
		k.status.err = err;
		k.status.why = *why;
		err = 0;
	}
	if (err < 0)
		return err;
	count_store(&k);
	*status = k.status;
	err = memory < 0 ? memory : order ? start_keeper(&k, &child) : -ENOMEM;
	/* The lock stays with the keeper: both have its file open. */
	store_free(k.store);
	if (err < 0)
		return why_set(why, err, "cannot start the process that writes the store: %s",
			err_text(err));
	*keeper = (struct keeper){ .child = child,
		.path = path,
		.log = log,
		.order = TAKE_PTR(order),
		.memory = TAKE_FD(memory),
		.status = *status };
	return 0;
}

/* The keeper works or waits for its disk. In any other state a keeper without an answer hangs. */
static bool is_slow(char state)
{
	return state == 'R' || state == 'D';
}

void keeper_close(struct keeper *keeper)
{
	fd_close(&keeper->memory);
	fd_close(&keeper->child.fd);
	if (child_wait(&keeper->child, keeper->busy ? 0 : END_MS, NULL) == -EAGAIN &&
		!is_slow(child_state(&keeper->child)))
		child_signal(&keeper->child, SIGKILL);
	child_leave(&keeper->child);
	free(keeper->order);
	*keeper = (struct keeper)KEEPER_INIT;
}

/* Another one, under the same descriptor. */
static int start_again(struct keeper *keeper)
{
	struct keeping k = { .path = keeper->path,
		.log = keeper->log,
		.foreign_fd = -1,
		.memory = keeper->memory,
		.status = keeper->status };
	struct child child;
	int err;

	/* It may still wait for its disk. */
	child_signal(&keeper->child, SIGKILL);
	if (child_wait(&keeper->child, END_MS, NULL) == -EAGAIN)
		fd_close(&keeper->child.pidfd);
	log_warn(keeper->log, "the process that writes the store was lost: another one goes on");
	keeper->status.lost = ++k.status.lost;
	err = start_keeper(&k, &child);
	if (err < 0)
		return err;
	err = dup3(child.fd, keeper->child.fd, O_CLOEXEC) < 0 ? -errno : 0;
	fd_close(&child.fd);
	child.fd = keeper->child.fd;
	keeper->child = child;
	return err;
}

/* Starts another keeper when it was lost. */
static int send_order(struct keeper *keeper)
{
	int err = -EPIPE;

	while (err == -EPIPE && keeper->tries++ < TRIES_MAX) {
		err = fd_pass(keeper->child.fd, keeper->order, sizeof(*keeper->order), -1);
		if (err == -ECONNRESET)
			err = -EPIPE;
		if (err == -EPIPE && start_again(keeper) < 0)
			break;
	}
	keeper->busy = err == 0;
	keeper->look_ns = clock_ns(CLOCK_MONOTONIC) + ANSWER_NS;
	return err;
}

static int put_kind(
	struct keeper *keeper, const struct segment_kind *kind, struct keeper_kind *order)
{
	order->period_ns = kind->period_ns;
	order->text_bytes = kind->text.len;
	memccpy(order->name, kind->name, '\0', sizeof(order->name) - 1);
	memccpy(order->unit, kind->unit, '\0', sizeof(order->unit) - 1);
	return fd_write_all(keeper->memory, kind->text.data, kind->text.len);
}

int keeper_put(struct keeper *keeper, const struct segment_about *about, const struct retention *r,
	const struct buf *text, struct why *why)
{
	struct keeper_order *order = keeper->order;
	int err = 0;

	*order = (struct keeper_order){ .kind = ORDER_PUT,
		.retention = *r,
		.start_ns = about->start_ns,
		.end_ns = about->end_ns,
		.hz = about->hz,
		.account_bytes = strlen(about->account),
		.text_bytes = text->len };
	memccpy(order->host, about->host, '\0', sizeof(order->host) - 1);
	memccpy(order->by, about->by, '\0', sizeof(order->by) - 1);
	if (getrandom(&order->id, sizeof(order->id), 0) < 0)
		err = -errno;
	order->id &= INT64_MAX;
	order->kinds_len = (uint32_t)about->kinds_len;
	if (err == 0)
		err = fd_rewrite(keeper->memory, about->account, strlen(about->account));
	if (err == 0)
		err = fd_write_all(keeper->memory, text->data, text->len);
	for (size_t i = 0; i < about->kinds_len && err == 0; i++)
		err = put_kind(keeper, &about->kinds[i], &order->kinds[i]);
	keeper->tries = 0;
	if (err == 0)
		err = send_order(keeper);
	else
		(void)!ftruncate(keeper->memory, 0);
	return err < 0 ? why_set(why, err, "an interval was lost: %s", err_text(err)) : 0;
}

/* A kind without values is left out. */
static int write_kinds(const struct profile *p, const struct sink_options *options,
	struct segment_about *about, struct segment_kind *kinds, struct buf *texts)
{
	int err = 0;

	for (uint32_t kind = 1; kind < p->kinds_len && err == 0; kind++) {
		struct buf *text = &texts[about->kinds_len];
		struct sink_options of_kind = *options;

		of_kind.kind = kind;
		of_kind.idle_mark = true;
		err = folded_write(p, &of_kind, text);
		if (err < 0 || text->len == 0)
			continue;
		kinds[about->kinds_len++] = (struct segment_kind){
			.name = profile_kind_name(p, kind),
			.unit = profile_text(p, p->kinds[kind].unit),
			.period_ns = p->kinds[kind].period_ns,
			.text = { (const uint8_t *)text->data, text->len },
		};
	}
	about->kinds = kinds;
	return err;
}

int keeper_put_profile(struct keeper *keeper, struct segment_about *about,
	const struct retention *r, const struct profile *profile,
	const struct sink_options *options, struct why *why)
{
	struct segment_kind kinds[KEEPER_KINDS_MAX];
	struct buf text = BUF_INIT, texts[KEEPER_KINDS_MAX] = { 0 };
	struct sink_options plain = *options;
	int err;

	plain.lines_only = true;
	err = folded_write(profile, &plain, &text);
	if (err == 0)
		err = write_kinds(profile, &plain, about, kinds, texts);
	err = err < 0 ? why_set(why, err, "an interval was lost: %s", err_text(err))
		      : keeper_put(keeper, about, r, &text, why);
	buf_done(&text);
	for (size_t i = 0; i < KEEPER_KINDS_MAX; i++)
		buf_done(&texts[i]);
	return err;
}

static void end_hung(struct keeper *keeper, uint64_t now)
{
	char state;

	if (!keeper->busy || now < keeper->look_ns)
		return;
	keeper->look_ns = now + ANSWER_NS;
	state = child_state(&keeper->child);
	if (is_slow(state))
		return;
	log_warn(keeper->log, "the process that writes the store does not answer (state %c): "
		"it is killed", state ? state : '?');
	child_signal(&keeper->child, SIGKILL);
}

static int take_answer(struct keeper *keeper, uint64_t until_ns, struct keeper_status *status)
{
	struct pollfd ready = { .fd = keeper->child.fd, .events = POLLIN };
	int none = -1;

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		int err = fd_take(ready.fd, MSG_DONTWAIT, status, sizeof(*status), &none);

		fd_close(&none);
		if (err != -EAGAIN)
			return err;
		end_hung(keeper, now);
		if (!keeper->busy || now >= until_ns)
			return err;
		keeper->look_ns = clock_sooner(keeper->look_ns, now + HURRY_NS);
		poll(&ready, 1, clock_wait_ms(now, clock_sooner(until_ns, keeper->look_ns)));
	}
}

enum keeper_news keeper_take(
	struct keeper *keeper, uint64_t until_ns, struct keeper_status *status)
{
	int err = take_answer(keeper, until_ns, status);

	if (err == -EPIPE && !keeper->busy)
		return keeper->tries++ < TRIES_MAX && start_again(keeper) == 0 ? KEEPER_NOTHING_NEW
									       : KEEPER_GIVEN_UP;
	while (err == -EPIPE && start_again(keeper) == 0 && send_order(keeper) == 0)
		err = take_answer(keeper, until_ns, status);
	if (err == -EAGAIN)
		return KEEPER_NOTHING_NEW;
	keeper->busy = false;
	(void)!ftruncate(keeper->memory, 0);
	if (err < 0)
		return KEEPER_GIVEN_UP;
	keeper->status = *status;
	return KEEPER_ANSWERED;
}

uint64_t keeper_due_ns(const struct keeper *keeper)
{
	return keeper->busy ? keeper->look_ns : CLOCK_NEVER_NS;
}
