/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/stops.h - reports that a child of this process was stopped, continued or has ended
 * (SIGCHLD), so that an idle process need not look. Who has the user of a child may stop and
 * continue it all the time: so this wakes its owner once in STARTER_WAKE_NS at most. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stops {
	int fd;
	int epoll_fd;    /* borrowed */
	bool muted;      /* the descriptor is not watched until: */
	uint64_t due_ns; /* CLOCK_MONOTONIC */
};

/* Watched by the epoll instance from here on. -errno. Children inherit the blocked signal. */
int stops_open(struct stops *stops, int epoll_fd);
void stops_close(struct stops *stops);
/* True: now is the time to call starter_wake for each child. Call it when the epoll instance is
 * readable, and when it is due (CLOCK_NEVER_NS: nothing is). */
bool stops_heard(struct stops *stops);
uint64_t stops_due_ns(const struct stops *stops);
