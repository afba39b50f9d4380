/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.h - a small process that keeps what starting a worker takes, so that its owner
 * need not: to make namespaces, to change the user, and to end another user's process. It is forked
 * before its owner has met a byte from outside, and knows few words: start; kill, of what it
 * started; a CPU clock, which takes as much where perf_event_paranoid is above 2; and a guest, who
 * may ask for clocks and nothing else. The workers are its owner's children, not its. */
#pragma once

#include <sys/types.h>

#include "base/cpu_clock.h"

#define STARTER_GUESTS_MAX 8

struct starter {
	pid_t pid; /* 0: none, or we are its guest */
	int fd;
};

#define STARTER_INIT      \
	{                 \
		.fd = -1, \
	}

/* While there is one thread only. */
int starter_open(struct starter *starter);
/* Does not end what it started. */
void starter_close(struct starter *starter);

/* This program once more, as `stoker ARGUMENT`, with an empty environment and one descriptor,
 * WORKER_FD: one end of a socket pair, of which the other becomes *fd. *pid is to be waited for.
 * Without a starter, or when it was lost, the process is started with what the caller may do. */
int starter_start(struct starter *starter, const char *argument, int *fd, pid_t *pid);
/* SIGKILL. */
void starter_kill(struct starter *starter, pid_t pid);
/* As cpu_clock_open, by the starter. -EPIPE: there is none. */
int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd);
/* *fd, the caller's, is for a guest: what is in a struct starter with it has starter_clock.
 * -EAGAIN: as many as may be; -EPIPE: there is no starter. */
int starter_invite(struct starter *starter, int *fd);
