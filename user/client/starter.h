/* SPDX-License-Identifier: Apache-2.0 */
/* client/starter.h - a small process that keeps the privileges that starting a worker takes, so
 * that its owner can drop them: it makes namespaces, changes the user, and ends or continues
 * another user's process. It is forked before its owner reads a byte from outside. Its duties are
 * fixed then: it starts one program, fetchers and openers; kills and continues processes that it
 * started; opens CPU clocks, which takes privileges where perf_event_paranoid is above 2; starts
 * captures, which are its guests: they may ask for clocks and nothing else. The processes are
 * children of its owner. A sender of any other order is served no more. */
#pragma once

#include "base/child.h"
#include "base/cpu_clock.h"
#include "base/orders.h"

#define STARTER_WANTED_BYTES 640
#define STARTER_WAKE_NS 50000000ULL /* after so long a wait, and again, starter_wake is called */
#define STARTER_ARGUMENT_BYTES 16
#define STARTER_REFUSED_BYTES 96

/* The messages on its socket. */
enum starter_orders {
	STARTER_START,
	STARTER_SIGNAL,
	STARTER_CLOCK,   /* a cgroup's folder goes with it */
	STARTER_CAPTURE, /* passes the output there, the messages back */
	STARTER_PACE,
	STARTER_OPENER,
	STARTER_ORDERS,
};

struct starter_order {
	uint32_t kind;
	char argument[STARTER_ARGUMENT_BYTES]; /* start */
	pid_t pid;                             /* signal */
	int32_t signal;                        /* SIGKILL or SIGCONT */
	int cpu;                               /* clock */
	int32_t code;                          /* clock */
	int32_t normal;                        /* pace */
	int32_t maps;                          /* capture */
	uint64_t period_ns;
	uint64_t wanted[STARTER_WANTED_BYTES / sizeof(uint64_t)]; /* capture */
};

struct starter_answer {
	int err;
	pid_t pid;
	char refused[STARTER_REFUSED_BYTES];
};

/* All that its owner may order. Others are no orders of this starter, and its seccomp filter
 * refuses the system calls that they would take. */
struct starter_duties {
	const char *program; /* only `stoker PROGRAM` is started; NULL: nothing */
	bool fetchers;       /* and `stoker FETCH_ARGUMENT` */
	bool clocks;         /* for its owner */
	bool openers;        /* with OPENING_CAPS, as far as we have them */
	/* Becomes a capture, in a process of its own with `caps` and no other capabilities, with
	 * the descriptors of starter_capture, and with a user of its own (USERS_CAPTURE) where we
	 * may change it: then its owner cannot kill it, but starter_kill can. wanted: the owner's,
	 * to be checked as an attacker's; clocks: there is a descriptor 3. Returns an exit status
	 * if it cannot. NULL: there are no captures. */
	int (*capture)(void *ctx, const void *wanted, bool clocks);
	/* Serves a capture that asks for perf maps, in a process of its own with `maps_caps`, until
	 * its socket's other end is closed. Returns an exit status. NULL: there are none. */
	int (*maps)(void *ctx, int fd);
	void *ctx;
	uint64_t caps, maps_caps;
};

struct starter {
	struct child child; /* with a socket and no process: we are its guest */
	bool lost;          /* there was one */
	/* Why the last process that it started has our user, and could have another
	 * (worker/users.h); "": it has, or could not. */
	char refused[STARTER_REFUSED_BYTES];
	uint64_t unsent;    /* descriptors that could not be sent, also by what it started */
	uint64_t stopped;   /* times that it, or what it started, was found stopped */
};

#define STARTER_INIT                 \
	{                            \
		.child = CHILD_INIT, \
	}

/* Only while there is one thread. */
int starter_open(struct starter *starter, const struct starter_duties *duties);
/* The processes that it started run on. */
void starter_close(struct starter *starter);

/* Executes this program as `stoker ARGUMENT`, with an empty environment and one descriptor,
 * WORKER_FD: its end of the child's socket pair; our end does not block. Where no starter was ever
 * opened, it may be any argument, and the process has the caller's privileges. -EPIPE: the starter
 * was lost, or had no answer for 5 s, and nothing takes its place: the caller may have rights that
 * the process must not get. */
int starter_start(struct starter *starter, const char *argument, struct child *child);
/* Forks a process that opens files (worker/opening.h). Otherwise as starter_start. */
int starter_opener(struct starter *starter, struct child *child);
/* Was it lost? Its socket becomes readable then: so an owner without orders learns it, too. */
bool starter_lost(struct starter *starter);
/* The processes that it starts, and has started, run as others do (normal), or before them with
 * SAMPLING_NICE as at first. Nothing happens where it may not do both. */
void starter_pace(struct starter *starter, bool normal);
/* SIGKILL. */
void starter_kill(struct starter *starter, pid_t pid);
/* A child that does not answer may have been stopped by a signal (SIGSTOP) of somebody who has its
 * user: then it goes on, and this is counted. True if it was stopped since the last call. */
bool starter_wake(struct starter *starter, const struct child *child);
/* The starter calls cpu_clock_open. -EPIPE: there is no starter. */
int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd);
/* Starts a capture. Its descriptors: 0 is /dev/null, 1 is `out`, 2 is *messages, a file in memory
 * that is the caller's, 3 a socket to us: put it into a struct starter and call starter_clock, and
 * 4 this program, to be executed, and with `maps` 5 the socket of duties.maps. Without room for a
 * guest, 3 is /dev/null. size: at most STARTER_WANTED_BYTES. It ends with its owner, which is its
 * parent. */
int starter_capture(struct starter *starter, const void *wanted, size_t size, bool maps, int out,
	struct child *child, int *messages);
