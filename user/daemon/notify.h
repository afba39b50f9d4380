/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify.h - reports the daemon's state to the service manager (sd_notify(3),
 * sd_watchdog_enabled(3)): a datagram to the socket in NOTIFY_SOCKET, so libsystemd is not
 * needed. The process that samples sends words to the supervisor, which passes them on, and gets
 * its configuration. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/config.h"

struct notify {
	int fd;               /* -1: no service manager */
	int from;             /* readable: the supervisor sent a configuration; -1: it sends none */
	uint64_t watchdog_ns; /* interval of WATCHDOG=1; 0: none */
	uint64_t next_ns;     /* CLOCK_MONOTONIC */
};

enum notify_word {
	NOTIFY_READY = 1,
	NOTIFY_STOPPING, /* all is written */
	NOTIFY_ALIVE,
	NOTIFY_MARKED,    /* the guard's mark is being set: for the supervisor alone */
	NOTIFY_RELOADING, /* the supervisor's own; NOTIFY_READY ends it */
};

void notify_open(struct notify *notify);
void notify_close(struct notify *notify);
/* To the service manager. Does not wait for delivery. */
void notify_send(const struct notify *notify, enum notify_word word);
/* A line for a person. */
void notify_status(const struct notify *notify, const char *text);

/* fd: the supervisor's socket; watchdog_ns: how often it has to hear of us. */
void notify_to(struct notify *notify, int fd, uint64_t watchdog_ns);
void notify_report(const struct notify *notify, enum notify_word word);
/* Sends NOTIFY_ALIVE when it is due: call it then, or earlier. CLOCK_NEVER_NS: it never is. */
void notify_alive(struct notify *notify, uint64_t now_ns);
uint64_t notify_due_ns(const struct notify *notify);
/* True: *out is a configuration that the supervisor sent. NOTIFY_READY is the answer. */
bool notify_take(struct notify *notify, struct config *out);

/* The supervisor's side of such a socket. The next word that came; 0: none now; -EPIPE: nobody is
 * there, or talks otherwise. */
int notify_hear(int fd);
/* Does not wait: -EAGAIN where the other side does not take what was sent before. */
int notify_give(int fd, const struct config *config);
