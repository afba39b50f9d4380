/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/serve.c - an idle daemon loads nothing into the kernel and opens nothing of other
 * processes. It has no store of its own: what was written can be asked for. Once its listener and
 * its starter are there it needs no right and no file, and has none (worker/sandbox.h). */
#include "daemon/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/signals.h"
#include "daemon/status.h"
#include "daemon/timer.h"
#include "output/place.h"
#include "worker/sandbox.h"

#define READ (S_IRGRP | S_IXGRP)

/* A token of our own is in the store. */
static int refuse_store(
	const struct config *config, const char *path, int err, const char *text, struct why *why)
{
	bool denied = err == -EACCES || err == -EPERM;
	struct why all;

	why_set(&all, err, "%s%s", text,
		denied ? "; choose a folder of the daemon's user, or run the daemon as root" : "");
	return config_refuse(config, path, "store", "path", err, all.text, why);
}

/* In a process with the rights of the keeper. */
static int run_probe(void *ctx, int fd)
{
	const int *dir = ctx;

	(void)fd;
	return faccessat(*dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES;
}

static bool keeper_may_write(int dir)
{
	const struct child_plan plan = { .run = run_probe, .ctx = &dir, .limited = true };
	struct child child;
	struct child_end end = { 0 };

	if (child_start(&plan, &child) == 0)
		child_close(&child, &end);
	return !WIFEXITED(end.status) || WEXITSTATUS(end.status) != 1;
}

/* Root's files get the group of root's store, so whoever may list them may read them. */
static void share_store(
	int dir, const struct config *config, const struct stat *st, struct log *log)
{
	const char *store = config->store;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (st->st_uid == 0 && st->st_gid != getegid() && !(st->st_mode & S_ISGID) &&
		chmod(path, (st->st_mode & 07777) | S_ISGID) < 0)
		log_warn(log, "cannot give new files the group of %s: %s", store, err_text(errno));
	if (strcmp(config->listen, "off") != 0 && (st->st_mode & READ) != READ &&
		(st->st_mode & READ >> 3) != READ >> 3)
		log_warn(log,
			"HTTP has no answers from the store: its process may not read %s (mode "
			"%04o); give the group the right with chmod g+rx",
			store, (unsigned int)st->st_mode & 07777);
}

/* Others may not have its path lead elsewhere. Root's daemon writes with a process that has no
 * capability, and reads with another user. */
static int check_store(const struct config *config, const char *path, struct log *log,
	struct why *why)
{
	_cleanup_fd_ int dir = -1;
	struct why text;
	struct stat st;
	int err = place_open_store(config->store, false, &dir, &text);

	if (err == -EPERM)
		return config_refuse(config, path, "store", "path", err, text.text, why);
	/* It is made later, by whoever needs it and says so where that fails. */
	if (err < 0 || geteuid() != 0 || fstat(dir, &st) < 0)
		return 0;
	if (keeper_may_write(dir)) {
		share_store(dir, config, &st, log);
		return 0;
	}
	why_set(&text, -EACCES,
		"%s belongs to user %u (mode %04o), and the process that writes there is root "
		"without capabilities; give it to root, or choose another folder",
		config->store, (unsigned int)st.st_uid, (unsigned int)st.st_mode & 07777);
	return config_refuse(config, path, "store", "path", -EACCES, text.text, why);
}

int serve_listen(const struct config *config, const char *path, struct log *log,
	struct listener *out, struct why *why)
{
	struct why text;
	int err;

	if (strcmp(config->listen, "off") == 0)
		return 0;
	err = http_front_listen(
		config->listen, config_says(config, "http", "listen"), log, out, &text);
	return err < 0 ? config_refuse(config, path, "http", "listen", err, text.text, why) : 0;
}

int serve_open(const struct config *config, const char *path, const struct listener *listener,
	const char *why_idle, int (*status)(void *ctx, struct buf *out), void *ctx,
	struct log *log, struct http_front **out, struct why *why)
{
	static const char *const keys[] = { [HTTP_FRONT_TOKEN] = "token_file",
		[HTTP_FRONT_METRICS_TOKEN] = "metrics_token_file" };
	const struct http_front_options options = { .listener = listener->fd,
		.reach = listener->reach,
		.token_file = config->token_file,
		.metrics_token_file = config->metrics_token_file,
		.store = config->store,
		.tick_limit_us = config->tick_limit_us,
		.tables = config->tables,
		.captures = config->captures,
		.jit = config_jit(config),
		.idle = why_idle,
		.status = status,
		.ctx = ctx,
		.log = log };
	enum http_front_key key;
	struct why text;
	int err = check_store(config, path, log, why);

	if (err < 0 || listener->fd < 0)
		return err;
	err = http_front_open(&options, out, &key, &text);
	if (err < 0 && !config_says(config, "http", keys[key]))
		return refuse_store(config, path, err, text.text, why);
	return err < 0 ? config_refuse(config, path, "http", keys[key], err, text.text, why) : 0;
}

/* ---- an idle daemon ------------------------------------------------------------------------- */

struct idle {
	struct config config;
	const char *why;
	struct http_front *http; /* NULL: off */
	struct account *account; /* of nothing */
	int signals, timer;
};

static int put_status(void *ctx, struct buf *out)
{
	const struct keeper no_keeper = KEEPER_INIT;
	const struct keeper_status no_store = { 0 };
	struct idle *idle = ctx;
	struct http_front_stats http;
	const struct status_facts facts = { .account = idle->account,
		.config = &idle->config,
		.keeper = &no_keeper,
		.store = &no_store,
		.http = &http,
		.idle = idle->why };

	http_front_stats(idle->http, &http);
	return status_write(&facts, out);
}

static int start(struct idle *idle, struct why *why)
{
	uint32_t report;
	int err = signals_open(&idle->signals, why);

	if (err == 0)
		err = timer_open(&idle->timer, why);
	if (err == 0 && idle->http)
		err = http_front_start(idle->http, why);
	if (err < 0)
		return err;
	err = sandbox_enter_idle(&report);
	return err < 0 ? why_set(why, err, "cannot drop privileges: %s", err_text(err)) : 0;
}

/* True: a signal ends it. */
static bool is_over(const struct idle *idle)
{
	struct signalfd_siginfo signal;

	while (read(idle->signals, &signal, sizeof(signal)) == sizeof(signal))
		if (signal.ssi_signo != SIGHUP)
			return true;
	return false;
}

static int loop(struct idle *idle, struct notify *notify, struct why *why)
{
	struct pollfd fds[] = {
		{ .fd = idle->timer, .events = POLLIN },
		{ .fd = idle->signals, .events = POLLIN },
		{ .fd = idle->http ? http_front_fd(idle->http) : -1, .events = POLLIN },
		{ .fd = notify->from, .events = POLLIN },
	};

	while (!is_over(idle)) {
		uint64_t due_ns;

		if (notify_take(notify, &idle->config))
			notify_report(notify, NOTIFY_READY);
		fds[3].fd = notify->from;
		notify_alive(notify, clock_ns(CLOCK_MONOTONIC));
		due_ns = notify_due_ns(notify);
		if (idle->http) {
			http_front_poll(idle->http);
			if (http_front_starter_lost(idle->http))
				return why_set(
					why, -EPIPE, "the process that starts others was lost");
			due_ns = clock_sooner(due_ns, http_front_due_ns(idle->http));
		}
		timer_set(idle->timer, due_ns, CLOCK_NEVER_NS);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return why_set(why, -errno, "cannot wait: %s", err_text(errno));
	}
	return 0;
}

int serve_idle(const struct config *config, const char *path, const struct listener *listener,
	const char *why_idle, struct notify *notify, struct log *log, struct why *why)
{
	_cleanup_(freep) struct account *account = calloc(1, sizeof(*account));
	struct idle idle = {
		.config = *config, .why = why_idle, .account = account, .signals = -1, .timer = -1
	};
	_cleanup_fd_ int store = -1;
	struct why unmade;
	int err = account ? 0 : why_set(why, -ENOMEM, "out of memory");

	/* HTTP answers from it, also where it is empty. */
	place_open_store(config->store, true, &store, &unmade);
	if (err == 0)
		err = serve_open(
			&idle.config, path, listener, why_idle, put_status, &idle, log, &idle.http,
			why);
	if (err == 0)
		err = start(&idle, why);
	if (err == 0) {
		notify_report(notify, NOTIFY_READY);
		err = loop(&idle, notify, why);
		notify_report(notify, NOTIFY_STOPPING);
	}
	http_front_free(idle.http);
	fd_close(&idle.timer);
	fd_close(&idle.signals);
	return err;
}
