/* SPDX-License-Identifier: Apache-2.0 */
/* files/debug_search.h - searches the debug files of an object, and knows whom each may name.
 * Our own root is searched by build ID alone, and the folders of --debug-dir: debug files of these
 * name the object for everybody. The root of a process is searched by path and link, too: its debug
 * files name only frames of processes with that root (files/views.h), because its owner chose them.
 * Roots that lead to the same debug files share one set of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/share.h"
#include "files/debug_files.h"
#include "files/object.h"

struct sampler;
struct views;

struct debug_search {
	struct sampler *sampler; /* borrowed, like views */
	struct views *views;
	struct opener_call *call;
	bool lines; /* lines will be requested */
	int dir_fds[DEBUG_DIRS_MAX];
	size_t dirs_len;
	size_t fds, fds_max; /* of all sets */
	struct share searched; /* in this interval; the account is who is blamed (files/views.h) */
};

/* Of debug_search_set in an interval: later ones wait for the next one. */
#define DEBUG_SEARCHES_MAX 1024

int debug_search_open_dirs(
	struct debug_search *search, const char *const *dirs, size_t dirs_len, struct why *why);
void debug_search_done(struct debug_search *search);
/* Finds the files that name the object for everybody. Call it when a worker has examined the
 * object, and then debug_search_meet for the root of the process that mapped it first, which may go
 * soon. */
void debug_search_common(struct debug_search *search, struct object *object);
void debug_search_meet(struct debug_search *search, struct object *object, uint32_t view);
/* Does it depend on the root by what a frame of the object is named? */
bool debug_search_by_view(const struct debug_search *search, const struct object *object);
/* The number of the object's set for frames of processes with this root; 0: none. */
uint32_t debug_search_set(struct debug_search *search, struct object *object, uint32_t view);
/* Opens a file that the debugging information of the object refers to, for frames that this set
 * names: a descriptor, or -ENOENT. */
int debug_search_part(struct debug_search *search, const struct object *object, uint32_t set,
	const struct debug_part *part);
/* Closes all that was found. */
void debug_search_forget(struct debug_search *search, struct object *object);
/* Does it lack symbols, or lines if they will be requested? Refused debug files count as none. */
bool debug_search_needs(const struct debug_search *search, const struct object *object);
