/* SPDX-License-Identifier: Apache-2.0 */
/* profile/marks.h - names of frames that are no code (PROFILE_MARK): notes in a stack. */
#pragma once

#define PROFILE_TRUNCATED "[truncated]"           /* the thread's outermost frame was not reached */
#define PROFILE_LEFT_OUT "[frames left out]"      /* more than are kept, of a stack that is whole */
#define PROFILE_NAMES_LEFT_OUT "[names left out]" /* the only frame: profile/fit.h */
#define PROFILE_GUESSED "[guessed]" /* nothing proves that this frame's callers are callers */

/* At the leaf of a thread that has no CPU: it waits for one, or for something else. */
#define PROFILE_RUNNABLE "[runnable]"
#define PROFILE_THROTTLED "[throttled]" /* likewise, and its cgroup has used up its quota */
#define PROFILE_STOPPED "[stopped]"     /* by a signal or a debugger, or frozen */
#define PROFILE_SLEEPING "[sleeping]"
#define PROFILE_BLOCKED "[blocked]" /* by something else than the next ones */
#define PROFILE_BLOCKED_FUTEX "[blocked on futex]"
#define PROFILE_BLOCKED_EPOLL "[blocked on epoll]"
#define PROFILE_BLOCKED_POLL "[blocked on poll]"
#define PROFILE_BLOCKED_PIPE "[blocked on pipe]"
#define PROFILE_BLOCKED_ACCEPT "[blocked on accept]"
#define PROFILE_BLOCKED_SOCKET "[blocked on socket]"
#define PROFILE_BLOCKED_CHILD "[blocked on child]"
#define PROFILE_BLOCKED_SIGNAL "[blocked on signal]"
#define PROFILE_BLOCKED_PAGE "[blocked on page]"
#define PROFILE_BLOCKED_FUSE "[blocked on fuse]"
#define PROFILE_BLOCKED_DISK "[blocked on disk]"
#define PROFILE_BLOCKED_FILE_LOCK "[blocked on file lock]"
#define PROFILE_BLOCKED_SEMAPHORE "[blocked on semaphore]" /* of System V */
#define PROFILE_BLOCKED_MESSAGE "[blocked on message queue]"
#define PROFILE_BLOCKED_EVENT "[blocked on eventfd]"
#define PROFILE_BLOCKED_INOTIFY "[blocked on inotify]"
#define PROFILE_BLOCKED_TERMINAL "[blocked on terminal]"
#define PROFILE_BLOCKED_IO_URING "[blocked on io_uring]"

/* In the lines of a store alone: at the end of an idle thread's, in the place of its label. */
#define PROFILE_IDLE "[idle]"

/* Below that: what it waits for, up to a bracket. */
#define PROFILE_WAITS_FOR "[waits for "

/* For lists: those with a name of their own. */
#define PROFILE_MARKS                                                                   \
	PROFILE_TRUNCATED, PROFILE_GUESSED, PROFILE_LEFT_OUT, PROFILE_NAMES_LEFT_OUT,   \
		PROFILE_RUNNABLE, PROFILE_THROTTLED, PROFILE_STOPPED, PROFILE_SLEEPING, \
		PROFILE_BLOCKED, PROFILE_BLOCKED_FUTEX, PROFILE_BLOCKED_EPOLL,          \
		PROFILE_BLOCKED_POLL, PROFILE_BLOCKED_PIPE, PROFILE_BLOCKED_ACCEPT,     \
		PROFILE_BLOCKED_SOCKET, PROFILE_BLOCKED_CHILD, PROFILE_BLOCKED_SIGNAL,  \
		PROFILE_BLOCKED_PAGE, PROFILE_BLOCKED_FUSE, PROFILE_BLOCKED_DISK,       \
		PROFILE_BLOCKED_FILE_LOCK, PROFILE_BLOCKED_SEMAPHORE,                   \
		PROFILE_BLOCKED_MESSAGE, PROFILE_BLOCKED_EVENT, PROFILE_BLOCKED_INOTIFY, \
		PROFILE_BLOCKED_TERMINAL, PROFILE_BLOCKED_IO_URING, PROFILE_IDLE
