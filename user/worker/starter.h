/* SPDX-License-Identifier: Apache-2.0 */
/* worker/starter.h - a small process that keeps what starting a worker takes, so that its owner
 * need not: to make namespaces, to change the user, and to end another user's process. It is forked
 * before its owner has met a byte from outside, hears only its owner, and knows two words: start
 * and kill, the latter only for what it started. The workers are its owner's children, not its. */
#pragma once

#include <sys/types.h>

struct starter {
	pid_t pid; /* 0: none */
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
