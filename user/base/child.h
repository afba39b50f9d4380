/* SPDX-License-Identifier: Apache-2.0 */
/* base/child.h - a process that runs a function of this program: its start, its end, its exit
 * status. The function may execute another program. base/orders.h sends it orders. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_FDS_MAX 8
#define CHILD_EXIT 127 /* the exit status of a child that could not become what its plan says */

struct child {
	pid_t pid;            /* 0: none */
	int pidfd;            /* readable when it has ended; -1: none */
	int fd;               /* our end of its socket pair; -1: none */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: child_wait kills it then; 0: none */
	bool late;            /* killed at its deadline */
};

#define CHILD_INIT                     \
	{                              \
		.pidfd = -1, .fd = -1, \
	}

enum child_signals {
	CHILD_SIGNALS_KEPT,    /* the same are blocked as in its parent */
	CHILD_SIGNALS_OPEN,    /* none is blocked */
	CHILD_SIGNALS_BLOCKED, /* all are blocked */
};

/* For child_plan.fds: the parent's standard files, or /dev/null in their place. */
#define CHILD_STANDARD 3
extern const int child_standard[CHILD_STANDARD], child_null[CHILD_STANDARD];

/* For the processes that a sample waits for: so maps are emptied in time on a busy host. Where it
 * is refused, the account shows what was lost. Workers have this value for a while
 * (worker/pace.h), since files make their work; that of all others is bounded. */
#define SAMPLING_NICE -20
#define CHILD_SLICE_NS 100000 /* the shortest that the kernel gives */

/* Zero always means: as in its parent. */
struct child_plan {
	/* Returns the exit status. fd: its end of the socket pair, or -1. */
	int (*run)(void *ctx, int fd);
	void *ctx;
	const char *name; /* of the process */
	/* Its descriptors 0, 1, ..., as copies of these; -1: /dev/null. Its end of the socket pair
	 * follows them. All others are closed. NULL: it inherits all, and the socket pair's end is
	 * closed on exec. */
	const int *fds;
	size_t fds_len;
	bool socket; /* SOCK_SEQPACKET */
	enum child_signals signals;
	/* Sent to the child when its parent's thread ends. SIGCONT is for a child that serves
	 * orders: even if it was stopped, it finds its socket closed, and ends. */
	int death_signal;
	uid_t user;           /* whom it becomes; its capabilities stay */
	bool limited;         /* to these capabilities; exec gives it no others */
	uint64_t caps;        /* CAPS_BIT(...) */
	int nice;             /* as of child_set_nice, in a session of its own */
	bool sibling;         /* a child of our parent, which must reap it */
	uint64_t deadline_ns; /* goes to struct child */
};

struct child_end {
	int status;      /* as of wait(2) */
	uint64_t cpu_ns; /* CPU time that the child used */
	uint64_t rss_max_kb; /* resident memory, at most */
	bool late;       /* as of struct child */
};

/* 0 and *child, or -errno. Only while there is one thread. child->pidfd is -1 where the kernel gave
 * none. */
int child_start(const struct child_plan *plan, struct child *child);
/* Sets the nice value of this process and of those that it starts, as far as it has the right. The
 * kernel shares CPU time between sessions first, and nice values count only within one (sched(7),
 * autogroup). So the leader of a session gives it the same value. All these processes get slices of
 * CHILD_SLICE_NS: they wait for each other often, and run at once when they wake up. */
void child_set_nice(int nice);
/* The same but for the session, in which others may be. */
void child_set_own_nice(int nice);
/* The slice of this process; 0: the kernel does not say (before Linux 6.12). */
uint64_t child_slice_ns(void);
/* A child that was started by our starter (client/starter.h). */
void child_adopt(struct child *child, pid_t pid, int fd);

/* 0: it has ended; *end (NULL: not wanted) says how, and pid is 0 then. The socket stays open.
 * -EAGAIN: it runs. -ECHILD: there is none, or somebody else reaped it; *end is all 0. Waits
 * wait_ms at most; -1: until it ends. */
int child_wait(struct child *child, int wait_ms, struct child_end *end);
/* Its state as a letter (proc_pid_stat(5)); '\0': unknown. */
char child_state(const struct child *child);
/* Is it working, or waiting for a CPU? Then it is slow, and does not hang in a call. */
bool child_is_busy(const struct child *child);
/* Was it stopped by a signal, or continued, since it was asked last? Its end is not looked at. */
bool child_was_stopped(const struct child *child);
/* Was it ended by SIGKILL? Waits wait_ms for its end at most, and leaves it to child_wait. */
bool child_was_killed(const struct child *child, int wait_ms);
/* Sends a signal, if there is a child. */
void child_signal(const struct child *child, int signal);
/* Closes the socket, which ends a child that serves orders, and waits for it. A stopped child is
 * continued first. */
void child_close(struct child *child, struct child_end *end);
/* Reaps the children that this process inherited (PR_SET_CHILD_SUBREAPER) and that have ended.
 * `own` is none of them. */
void child_reap_orphans(const struct child *own);
/* Where there are no other children than `own`: kills orphans, those of other users or all, and
 * returns how many there were. Ours end with their sockets and may have something to write. */
unsigned int child_kill_orphans(const struct child *own, bool all);
/* Closes the socket and does not wait. The child is none, and may run on. */
void child_leave(struct child *child);
