/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/keeper.c - an order is one message with a file in memory behind it, so that handing an
 * interval over takes the daemon no longer for a slow disk; each order has one answer, the status.
 * The two ends are one program. The end of the socket is the last order. */
#include "daemon/keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/compact.h"
#include "store/store.h"

#define LABEL_MAX 256
#define BYTES_MAX (1UL << 30)
/* Hours that are put together after an interval, so that a long time off is made up for slowly. */
#define RUNS_AT_ONCE 2
#define LOCK_WAIT_NS (2 * NSEC_PER_SEC)
#define LOCK_POLL_MS 50

struct order {
	struct retention retention;
	char host[LABEL_MAX], by[LABEL_MAX];
	uint64_t start_ns, end_ns;
	uint32_t hz;
	size_t account_bytes, text_bytes; /* in the file, one behind the other */
};

struct keeping {
	const char *path;
	struct store *store; /* NULL: lost; opened again at the next interval */
	struct log *log;
	struct keeper_status status;
};

/* ---- the keeper ----------------------------------------------------------------------------- */

static int open_store(struct keeping *k, struct why *why)
{
	struct store_report report;
	int err = store_open(k->path, STORE_WRITE, &k->store, &report, why);

	if (err < 0)
		return err;
	k->status.damaged += report.damaged;
	if (report.damaged > 0)
		log_warn(k->log, "%s: %u damaged files were put into damaged/, the last is %s: %s",
			k->path, report.damaged, report.last, report.why.text);
	if (report.beyond > 0)
		log_warn(k->log, "%s: %u profiles beyond the newest %u are not seen", k->path,
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

static void tell_store(struct keeping *k)
{
	size_t len = k->store ? store_len(k->store) : 0;

	k->status.segments = len;
	k->status.bytes = k->store ? store_bytes(k->store) : 0;
	k->status.oldest_ns = len > 0 ? store_entry(k->store, 0)->start_ns : 0;
	k->status.newest_ns = len > 0 ? store_entry(k->store, len - 1)->end_ns : 0;
}

/* What the daemon gave, in memory: account, a NUL, text. */
static int read_order(const struct order *o, int fd, struct buf *out)
{
	int err;

	if (o->account_bytes > BYTES_MAX || o->text_bytes > BYTES_MAX)
		return -EFBIG;
	err = fd_read_all(fd, o->account_bytes + o->text_bytes, out);
	return err == 0 && out->len != o->account_bytes + o->text_bytes ? -EIO : err;
}

static int make_segment(const struct order *o, int fd, struct buf *out)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(freep) char *account = NULL;
	struct segment_about about = { .host = o->host,
		.by = o->by,
		.start_ns = o->start_ns,
		.end_ns = o->end_ns,
		.hz = o->hz };
	int err = read_order(o, fd, &bytes);

	if (err < 0)
		return err;
	account = strndup(bytes.data ? bytes.data : "", o->account_bytes);
	if (!account)
		return -ENOMEM;
	about.account = account;
	if (getrandom(&about.id, sizeof(about.id), 0) < 0)
		return -errno;
	about.id &= INT64_MAX;
	return segment_write(&about,
		(struct bytes){ (const uint8_t *)bytes.data + o->account_bytes, o->text_bytes },
		out);
}

static int put(struct keeping *k, const struct order *o, int fd, struct why *why)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct bytes packed;
	int err = make_segment(o, fd, &bytes);

	packed = (struct bytes){ (const uint8_t *)bytes.data, bytes.len };
	if (err < 0)
		return why_set(why, err, "cannot pack the profile: %s", err_text(err));
	if (!k->store)
		err = open_store(k, why);
	if (err < 0)
		return err;
	err = store_put(k->store, packed, why);
	if (err != -ENOENT)
		return err;
	/* The directory went away, and perhaps there is another. */
	store_free(k->store);
	k->store = NULL;
	err = open_store(k, why);
	return err == 0 ? store_put(k->store, packed, why) : err;
}

static void obey(struct keeping *k, const struct order *o, int fd)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	/* Room first: the disk may be full of what is to go. */
	if (k->store)
		expire(k, &o->retention, now);
	k->status.err = put(k, o, fd, &k->status.why);
	if (k->status.err < 0)
		k->status.failed++;
	else
		k->status.written++;
	if (k->store) {
		expire(k, &o->retention, now);
		compact(k, &o->retention, now);
	}
	tell_store(k);
}

_Noreturn static void serve(struct keeping *k, int socket)
{
	prctl(PR_SET_NAME, "stoker-keeper");
	if (caps_limit(0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(1);
	for (;;) {
		_cleanup_fd_ int fd = -1;
		struct order order;
		int err = fd_take(socket, 0, &order, sizeof(order), &fd);

		if (err == -EAGAIN)
			continue;
		if (err < 0)
			break;
		obey(k, &order, fd);
		if (fd_pass(socket, &k->status, sizeof(k->status), -1) < 0)
			break;
	}
	store_free(k->store);
	_exit(0);
}

/* ---- its caller ----------------------------------------------------------------------------- */

int keeper_open(struct keeper *keeper, const char *path, struct log *log,
	struct keeper_status *status, struct why *why)
{
	struct keeping k = { .path = path, .log = log };
	int pair[2], err = open_first(&k, why);
	pid_t pid;

	if (err < 0)
		return err;
	tell_store(&k);
	*status = k.status;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		store_free(k.store);
		return why_set(why, -errno, "cannot begin: %s", err_text(errno));
	}
	pid = fork();
	if (pid == 0) {
		fd_close(&pair[0]);
		serve(&k, pair[1]);
	}
	/* The lock stays with the keeper: it is of the file that both have open. */
	store_free(k.store);
	fd_close(&pair[1]);
	if (pid < 0) {
		fd_close(&pair[0]);
		return why_set(why, -EAGAIN, "cannot begin: %s", err_text(EAGAIN));
	}
	*keeper = (struct keeper){ .pid = pid, .fd = pair[0] };
	return 0;
}

void keeper_close(struct keeper *keeper)
{
	fd_close(&keeper->fd);
	if (keeper->pid == 0)
		return;
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*keeper = (struct keeper)KEEPER_INIT;
}

static int make_file(const char *account, const struct buf *text)
{
	_cleanup_fd_ int fd = memfd_create("interval", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : fd_write_all(fd, account, strlen(account));

	if (err == 0)
		err = fd_write_all(fd, text->data, text->len);
	if (err == 0 && lseek(fd, 0, SEEK_SET) < 0)
		err = -errno;
	return err < 0 ? err : TAKE_FD(fd);
}

int keeper_put(struct keeper *keeper, const struct segment_about *about, const struct retention *r,
	const struct buf *text, struct why *why)
{
	struct order order = { .retention = *r,
		.start_ns = about->start_ns,
		.end_ns = about->end_ns,
		.hz = about->hz,
		.account_bytes = strlen(about->account),
		.text_bytes = text->len };
	_cleanup_fd_ int fd = make_file(about->account, text);
	int err = fd < 0 ? fd : 0;

	memccpy(order.host, about->host, '\0', sizeof(order.host) - 1);
	memccpy(order.by, about->by, '\0', sizeof(order.by) - 1);
	if (err == 0)
		err = fd_pass(keeper->fd, &order, sizeof(order), fd);
	if (err < 0)
		return why_set(why, err, "an interval was lost: %s",
			err == -EPIPE ? "the process that writes the store is gone"
				      : err_text(err));
	keeper->busy = true;
	return 0;
}

int keeper_take(struct keeper *keeper, bool wait, struct keeper_status *status)
{
	int none = -1;
	int err;

	do
		err = fd_take(keeper->fd, wait ? 0 : MSG_DONTWAIT, status, sizeof(*status), &none);
	while (wait && err == -EAGAIN);
	fd_close(&none);
	if (err != -EAGAIN)
		keeper->busy = false;
	return err;
}
