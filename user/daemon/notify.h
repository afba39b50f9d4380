/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify.h - reports the daemon's state to the service manager (sd_notify(3),
 * sd_watchdog_enabled(3)): a datagram to the socket in NOTIFY_SOCKET, so libsystemd is not
 * needed. */
#pragma once

#include <stdint.h>

struct notify {
	int fd;               /* -1: no service manager */
	uint64_t watchdog_ns; /* interval of WATCHDOG=1; 0: none */
	uint64_t next_ns;     /* CLOCK_MONOTONIC */
};

void notify_open(struct notify *notify);
void notify_close(struct notify *notify);
/* "READY=1", "STOPPING=1", "STATUS=...". Does not wait for delivery. */
void notify_send(const struct notify *notify, const char *state);
/* READY=1 ends the reloading. */
void notify_reloading(const struct notify *notify);
/* Sends WATCHDOG=1 when it is due: call it then, or earlier. CLOCK_NEVER_NS: it never is. */
void notify_alive(struct notify *notify, uint64_t now_ns);
uint64_t notify_due_ns(const struct notify *notify);
