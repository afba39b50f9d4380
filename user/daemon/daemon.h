/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.h - the process that samples until SIGTERM and writes each interval's profile into
 * the store. Its configuration is read at the start, and again at SIGHUP. daemon/supervisor.h
 * starts it. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "daemon/guard.h"

struct daemon;

struct daemon_options {
	const char *config_path; /* NULL: the default file if it exists, else the defaults */
	int supervisor_fd;       /* the socket for daemon/notify.h; borrowed */
	uint64_t watchdog_ns;    /* as of notify_to */
	const struct guard_mark *mark;
	struct log *log;
};

/* Reads and checks the configuration and opens the HTTP listener; nothing runs yet. *out is the
 * caller's. */
int daemon_open(const struct daemon_options *options, struct daemon **out, struct why *why);
/* Runs until a signal ends it or it fails. -EPIPE: a process of its own was lost that only a new
 * daemon can have again. */
int daemon_run(struct daemon *daemon, struct why *why);
void daemon_free(struct daemon *daemon);
