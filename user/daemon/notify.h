/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify.h - tells the service manager how we are (sd_notify(3), sd_watchdog_enabled(3)): a
 * datagram to the socket that NOTIFY_SOCKET names, so libsystemd is not needed. */
#pragma once

#include <stdint.h>

struct notify {
	int fd;               /* -1: nobody asked */
	uint64_t watchdog_ns; /* how often to send WATCHDOG=1; 0: not at all */
	uint64_t next_ns;     /* CLOCK_MONOTONIC */
};

void notify_open(struct notify *notify);
void notify_close(struct notify *notify);
/* "READY=1", "STOPPING=1", "STATUS=...". Nobody waits for it to arrive. */
void notify_send(const struct notify *notify, const char *state);
/* READY=1 says that it is done. */
void notify_reloading(const struct notify *notify);
/* To be called often: says that we are alive when it is time to. */
void notify_alive(struct notify *notify, uint64_t now_ns);
