/* SPDX-License-Identifier: Apache-2.0 */
/* client/hung.h - openers that were given up because a call did not come back, and whom that
 * concerns. Such a process may not end, even by SIGKILL, as long as a file system does not answer.
 * So one device, and one user of an account, can have one of them at a time: other requests of
 * theirs are refused meanwhile, and for HUNG_REFUSE_NS at least. One account, or user (but root),
 * can have HUNG_SHARE_MAX of a kind. Each kind has places of its own, so those that wait for slow
 * file systems take none from paths. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/child.h"
#include "client/starter.h"

#define HUNG_PLACES 16 /* of a kind, with the opener that runs */
#define HUNG_MAX (HUNG_PLACES * HUNG_KINDS)
#define HUNG_SHARE_MAX 4
#define HUNG_REFUSE_NS 30000000000ULL

enum hung_kind {
	HUNG_LOCAL, /* a file that seemed to be of a local file system */
	HUNG_SLOW,  /* of a file system whose calls may wait */
	HUNG_PATH,  /* searched by a path */
	HUNG_KINDS,
};

/* A file that was requested: by which process, and where it is. */
struct hung_file {
	pid_t process; /* the process that maps it */
	enum hung_kind kind;
	uint32_t dev;    /* of a slow one */
	bool identified; /* the rest is known, or was asked for in vain */
	uid_t uid;
	uint64_t account; /* 0: unknown */
};

struct hung {
	/* Whose this process is: as containers/container.h has it. NULL: all have one account. */
	uint64_t (*account)(pid_t process);
	struct {
		struct child child; /* pid 0: it has ended */
		struct hung_file file;
		enum hung_kind kind; /* of the opener */
		bool blames;         /* else it is only to be reaped */
		uint64_t until_ns;
	} all[HUNG_MAX];
	size_t len;
	uint64_t given_up; /* openers, in all */
	uint64_t cpu_ns;   /* of those that have ended */
};

/* May an opener of this kind be started? It takes its place here if it is given up. */
bool hung_has_room(struct hung *hung, enum hung_kind kind);
/* Kills the child, an opener of this kind, and takes it. blamed: NULL: nobody. */
void hung_put(struct hung *hung, struct starter *starter, enum hung_kind kind, struct child *child,
	const struct hung_file *blamed);
/* Closes what has ended and blames nobody any more. */
void hung_reap(struct hung *hung);
/* Asks /proc whose process it is, once. */
void hung_identify(const struct hung *hung, struct hung_file *file);
/* Is this file one that must not be tried now? Asks /proc for the account when it matters. */
bool hung_refuses(struct hung *hung, struct hung_file *file);
/* Does not wait: what is stuck is left. */
void hung_done(struct hung *hung);
