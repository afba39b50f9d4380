/* SPDX-License-Identifier: Apache-2.0 */
/* worker/filter.h - the system calls that each of our processes has: seccomp(2) filters, all of
 * them in one place. A filter is for good and goes to all that the process starts. Load it when
 * nothing can be gained any more (PR_SET_NO_NEW_PRIVS, which it sets). ARCHITECTURE.md, *Threat
 * model*, has the table of processes. */
#pragma once

enum filter {
	/* Memory, clocks, descriptors that it has or receives. Any other call kills the process, so
	 * that an attempt is noticed. */
	FILTER_WORKER,
	/* A worker's, and those to open files of others for reading, to copy them and to pass
	 * descriptors on. It keeps its rights. Any other call kills it. */
	FILTER_OPENER,
	/* Also connections that come, threads, files to be read. With FILTER_DENY_LINGER, as the
	 * next: whom they send a connection must not wait when it closes that. */
	FILTER_SERVER,
	FILTER_FETCHER, /* a list of what kills; others' libraries decide what else it calls */
	/* The calls that sampling takes once the BPF program is loaded, and files; no other program
	 * is executed or loaded into the kernel, there is no network and no other process's memory.
	 * Other calls fail with ENOSYS, as on a kernel that lacks them: libc knows how to go on. */
	FILTER_AGENT,
	FILTER_INQUIRER, /* an agent that connects to sockets of this host */
	/* A worker's, events, /proc of others to be read, messages and files in memory that go with
	 * them: a daemon that samples nothing and answers. Other calls fail as an agent's. */
	FILTER_IDLE,
};
int filter_enter(enum filter which);

/* Before FILTER_SERVER: a process that takes this one's place has the same listener, so nothing may
 * be done to it that lasts. shutdown(2), options and copies of this number fail with EPERM. */
int filter_keep_listener(int fd);

/* For a process that cannot be shut in, because it has work outside: calls that it does not need
 * fail with EPERM. */
#define FILTER_DENY_KERNEL 1U  /* modules, keys, another kernel, ptrace(2) */
#define FILTER_DENY_BPF 2U     /* the kernel's programs */
#define FILTER_DENY_EVENTS 4U  /* perf events */
#define FILTER_DENY_OUTSIDE 8U /* programs, networks, processes, mounts, signals */
#define FILTER_DENY_LINGER 16U /* a socket whose closing waits (socket(7), SO_LINGER) */
/* So there are files, and nothing else. */
#define FILTER_DENY_ALL_BUT_FILES \
	(FILTER_DENY_KERNEL | FILTER_DENY_BPF | FILTER_DENY_EVENTS | FILTER_DENY_OUTSIDE)
/* Each filter, of filter_enter too, denies owners of descriptors: F_SETOWN, F_SETSIG, FIOASYNC and
 * others send signals to any process of the user. */
int filter_deny(unsigned int what);
