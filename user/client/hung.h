/* SPDX-License-Identifier: Apache-2.0 */
/* client/hung.h - openers that were given up because a call did not come back, and whom that
 * concerns. Such a process may not end, even by SIGKILL, as long as a file system does not answer.
 * So one device, and one account, can have one of them at a time: other requests of theirs are
 * refused meanwhile, and for HUNG_REFUSE_NS at least. An account is a cgroup and a user; one cgroup
 * or user (but root) has HUNG_SHARE_MAX accounts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/child.h"
#include "client/starter.h"

#define HUNG_MAX 32
#define HUNG_SHARE_MAX 4
#define HUNG_REFUSE_NS 30000000000ULL

enum hung_kind {
	HUNG_LOCAL, /* a file that seemed to be of a local file system */
	HUNG_SLOW,  /* of a file system whose calls may wait */
	HUNG_PATH,  /* searched by a path */
};

/* A file that was requested: by which process, and where it is. */
struct hung_file {
	pid_t process; /* the process that maps it */
	enum hung_kind kind;
	uint32_t dev;    /* of a slow one */
	bool identified; /* the rest is known, or was asked for in vain */
	uid_t uid;
	uint64_t cgroup; /* hash of its paths; 0: unknown */
};

struct hung {
	struct {
		struct child child; /* pid 0: it has ended */
		struct hung_file file;
		bool blames; /* else it is only to be reaped */
		uint64_t until_ns;
	} all[HUNG_MAX];
	size_t len;
	uint64_t given_up; /* openers, in all */
	uint64_t cpu_ns;   /* of those that have ended */
};

/* Kills the child and takes it. There must be less than HUNG_MAX. blamed: NULL: nobody. */
void hung_put(struct hung *hung, struct starter *starter, struct child *child,
	const struct hung_file *blamed);
/* Closes what has ended and blames nobody any more. */
void hung_reap(struct hung *hung);
/* Is this file one that must not be tried now? Asks /proc for the account when it matters. */
bool hung_refuses(struct hung *hung, struct hung_file *file);
/* Is it working, or waiting for a CPU? Then it is slow, and does not hang. */
bool hung_is_busy(const struct child *child);
/* Does not wait: what is stuck is left. */
void hung_done(struct hung *hung);
