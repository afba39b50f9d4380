/* SPDX-License-Identifier: Apache-2.0 */
/* output/folder.h - opens a folder by its path, part by part, with O_PATH. Links on the way have to
 * be the caller's or root's. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum folder_opened {
	FOLDER_OPEN,
	FOLDER_SHARED, /* why: others may change what the path leads to */
};

/* own: root and the caller alone may change what the path leads to, now and later. Each folder on
 * the way, and the one that it leads to, is theirs, and nobody else may write to it; in a sticky
 * one, such as /tmp, others may, as they can rename only what is their own. *out is the caller's,
 * with FOLDER_OPEN. -EPERM: a link of another user; -EXDEV: a link of /proc to a folder of a
 * process, which may be in another root: its text would name another folder in ours. */
int folder_open(const char *path, bool own, int *out, struct why *why);
/* As with own, but all is root's alone, and nobody else may write into the folder itself. */
int folder_open_roots(const char *path, int *out, struct why *why);
/* Root's or the caller's. */
bool folder_is_ours(unsigned int user);
bool folder_is_proc(int dir);
