/* SPDX-License-Identifier: Apache-2.0 */
/* client/opener_call.h - opens what is searched by a path, of a process or in its root, and waits
 * for it: OPENER_CALL_NS at most, or OPENER_BUSY_NS while it has work; then the opener is given up
 * (client/openers.h), and paths of the same account are refused for a while. So whoever makes calls
 * hang costs their time once. Files of a file system whose calls may wait are refused: -ETIMEDOUT,
 * as those that hung. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/child.h"
#include "client/hung.h"
#include "proc/opener.h"

#define OPENER_CALL_NS 500000000ULL
#define OPENER_BUSY_NS 2000000000ULL

struct buf;
struct jit_files_access;
struct openers_options;
struct sampler;

struct opener_call {
	const struct openers_options *options; /* borrowed */
	struct hung *hung;
	struct sampler *sampler;
	struct child child;
	uint64_t seq, not_before_ns;
	bool busy; /* a scan polls the sampler: there is no second request meanwhile */
};

void opener_call_init(
	struct opener_call *call, const struct openers_options *options, struct hung *hung);
void opener_call_done(struct opener_call *call);

/* All: 0; -ETIMEDOUT: it hung, or may; -EAGAIN: no opener can be started; other errors as those of
 * proc/opener.h, whose functions have these names. */
int opener_call_dir(
	struct opener_call *call, const struct opener_process *process, const char *path, int *fd);
/* Appends the text of a file of /proc/PID. -EFBIG: there is more. */
int opener_call_read(struct opener_call *call, const struct opener_process *process,
	const char *name, size_t size_max, struct buf *out);
int opener_call_mapped(
	struct opener_call *call, const struct opener_mapping *mapping, struct opener_found *found);
int opener_call_perf_map(struct opener_call *call, int dir_fd, const struct opener_process *process,
	pid_t ns_pid, uid_t uid, struct opener_found *found);

/* For struct scan_reader; ctx: the call. Of all processes within OPENER_SCAN_NS. */
#define OPENER_SCAN_NS 3000000000ULL
int opener_call_scan(void *ctx, int iterator_fd, uint32_t tgid, int *fd);

/* The first three, for jit/jit_files.h. */
struct jit_files_access opener_call_access(struct opener_call *call);

/* Paths to try, in their order. */
struct opener_paths {
	char text[PATH_MAX];
	size_t bytes;
	uint32_t len;
	bool itself; /* as opener_itself */
};

/* -ENOSPC: ask for those first. */
int opener_paths_add(struct opener_paths *paths, const char *path);
/* The first of the paths from *at on that there is in a root, as opener_for_user; *at becomes its
 * number, also if it is refused. -ENOENT: no path leads to a file. view: number of the root that
 * is blamed where the file system does not answer (files/views.h). */
int opener_call_files(struct opener_call *call, int root_fd, uint32_t view, uid_t uid,
	const struct opener_paths *paths, uint32_t *at, struct opener_found *found);
