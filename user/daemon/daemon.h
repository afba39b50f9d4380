/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.h - the process that samples until SIGTERM and writes each interval's profile into
 * the store. daemon/supervisor.h starts it, and gives it its configuration: a first one, and others
 * while it runs, which have what may change (config_reload). */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "daemon/config.h"
#include "guard/guard.h"
#include "http/listener.h"

/* From the order to end until a process that has not ended is killed; the most that it has for
 * writing its last interval. */
#define DAEMON_END_NS (2 * NSEC_PER_SEC)

struct daemon;

struct daemon_options {
	const struct config *config; /* copied */
	const char *config_path;     /* of the file, for messages */
	/* Of serve_listen; the caller's. */
	const struct listener *listener;
	int supervisor_fd;           /* the socket for daemon/notify.h; borrowed */
	uint64_t watchdog_ns;        /* as of notify_to */
	const struct guard_mark *mark;
	struct log *log;
};

/* Checks the configuration; nothing runs yet. *out is the caller's. */
int daemon_open(const struct daemon_options *options, struct daemon **out, struct why *why);
/* Runs until a signal ends it or it fails. -EPIPE: a process of its own was lost that only a new
 * daemon can have again. */
int daemon_run(struct daemon *daemon, struct why *why);
void daemon_free(struct daemon *daemon);
