/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify.h - reports the daemon's state to the service manager (sd_notify(3),
 * sd_watchdog_enabled(3)): a datagram to the socket in NOTIFY_SOCKET, so libsystemd is not
 * needed. The process that samples sends words to the supervisor, which passes them on. */
#pragma once

#include <stdint.h>

struct notify {
	int fd;               /* -1: no service manager */
	uint64_t watchdog_ns; /* interval of WATCHDOG=1; 0: none */
	uint64_t next_ns;     /* CLOCK_MONOTONIC */
};

enum notify_word {
	NOTIFY_READY = 1,
	NOTIFY_RELOADING, /* NOTIFY_READY ends it */
	NOTIFY_STOPPING,
	NOTIFY_ALIVE,
	NOTIFY_MARKED, /* the guard's mark is being set: for the supervisor alone */
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
/* The next word that came; 0: none now; -EPIPE: nobody is there, or talks otherwise. */
int notify_hear(int fd);
