/* SPDX-License-Identifier: Apache-2.0 */
/* worker/users.h - the users of sandboxed processes: numbers of one range that no distribution
 * assigns and that nothing but these processes has. A number is looked up in /etc/passwd alone: a
 * static program has no other directory. Never `nobody`, whom other programs run as. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* systemd leaves 60706 to 61183 unused (UIDS-GIDS.md), Debian gives 60000 to 64999 on demand. */
#define USERS_WORKER 60760 /* the first of USERS_CHOICES */
#define USERS_SERVER 60770 /* also of an idle daemon */
#define USERS_FETCHER 60780
#define USERS_CAPTURE 60790
#define USERS_OPENER 60800
#define USERS_CHOICES 10

/* The first number from `first` on that is nobody's; 0: each is somebody's. */
uid_t users_choose(uid_t first);
/* The user of a process that executes *program, the caller's, and has workers that execute it, too:
 * USERS_CAPTURE or another one of these; 0: it stays ours. *program: this program's file, or a copy
 * in memory where others may not execute that one; -1 if it cannot be opened. *refused: why it
 * stays ours although we may change it; NULL: it does not, or we may not. */
uid_t users_of_program(int *program, const char **refused);
/* passwd: the contents of /etc/passwd (passwd(5)). Has any user this number, or this group? */
bool users_is_taken(const struct buf *passwd, uid_t uid);
