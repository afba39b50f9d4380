/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.h - a small process that keeps the privileges that starting a worker takes, so
 * that its owner can drop them: it makes namespaces, changes the user, and ends another user's
 * process. It is forked before its owner reads a byte from outside. It obeys five orders: start a
 * process; start an opener; kill one that it started; open a CPU clock, which takes privileges
 * where perf_event_paranoid is above 2; admit a guest, who may ask for clocks and nothing else. The
 * workers and openers are children of its owner. */
#pragma once

#include "base/child.h"
#include "base/cpu_clock.h"
#include "base/orders.h"

struct starter {
	struct child child; /* with a socket and no process: we are its guest */
	bool lost;          /* there was one */
};

#define STARTER_INIT                 \
	{                            \
		.child = CHILD_INIT, \
	}

/* Only while there is one thread. */
int starter_open(struct starter *starter);
/* The processes that it started run on. */
void starter_close(struct starter *starter);

/* Executes this program as `stoker ARGUMENT`, with an empty environment and one descriptor,
 * WORKER_FD: its end of the child's socket pair. Where no starter was ever opened, the process has
 * the caller's privileges. -EPIPE: the starter was lost, and nothing takes its place: the caller
 * may have rights that the process must not get. */
int starter_start(struct starter *starter, const char *argument, struct child *child);
/* Forks a process that opens files (worker/opening.h), with OPENING_CAPS as far as we have them.
 * Otherwise as starter_start. */
int starter_opener(struct starter *starter, struct child *child);
/* Was it lost? Looks, so that also an owner learns it that asks for nothing; its socket becomes
 * readable then. */
bool starter_lost(struct starter *starter);
/* SIGKILL. */
void starter_kill(struct starter *starter, pid_t pid);
/* The starter calls cpu_clock_open. -EPIPE: there is no starter. */
int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd);
/* *fd, the caller's, is for a guest, who puts it into a struct starter and calls starter_clock.
 * -EAGAIN: there are ORDERS_GUESTS_MAX; -EPIPE: there is no starter. */
int starter_invite(struct starter *starter, int *fd);
