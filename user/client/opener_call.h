/* SPDX-License-Identifier: Apache-2.0 */
/* client/opener_call.h - opens what is searched by a path, of a process or in its root, and waits
 * for it: OPENER_CALL_NS at most, or OPENER_BUSY_NS while it has work; then the opener is given up
 * (client/openers.h), and paths of the same account are refused for a while. So whoever makes calls
 * hang costs their time once. Calls in which the opener works or is blocked for 1 ms may take half
 * a second at once and a tenth of a per cent of a core in the long run, which accounts share
 * (base/share.h); then those of who took much are refused. Files of a file system whose calls may
 * wait are refused: -ETIMEDOUT, as those that hung; or copied. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/child.h"
#include "base/share.h"
#include "client/hung.h"
#include "proc/opener.h"
#include "wire/opening.h"

#define OPENER_CALL_NS 500000000ULL
#define OPENER_BUSY_NS 2000000000ULL
#define OPENER_SLOW_NS 1000000ULL
#define OPENER_SPENT_NS 500000000ULL
#define OPENER_PART 1000 /* of the time that passes is given back */

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
	struct share_debt spent; /* by slow calls */
	bool busy; /* a scan polls the sampler: there is no second request meanwhile */
};

void opener_call_init(
	struct opener_call *call, const struct openers_options *options, struct hung *hung);
void opener_call_done(struct opener_call *call);

/* All: 0; -ETIMEDOUT: it hung, or may; -ETIME: its account took too long; -EAGAIN: no opener can be
 * started, or a descriptor cannot be sent now; other errors as those of proc/opener.h, whose
 * functions have these names. */
int opener_call_dir(
	struct opener_call *call, const struct opener_process *process, const char *path, int *fd);
/* A copy of a file of /proc/PID, in memory that nobody can change. -EFBIG: it is longer. */
int opener_call_copy(struct opener_call *call, const struct opener_process *process,
	const char *name, size_t size_max, int *fd);
/* The same, appended. */
int opener_call_read(struct opener_call *call, const struct opener_process *process,
	const char *name, size_t size_max, struct buf *out);
/* Copies of ranges of the process's memory, one after another, in memory that nobody can change;
 * zeros where there is nothing to read. At most OPENING_RANGES_MAX and OPENING_READ_BYTES_MAX. */
int opener_call_memory(struct opener_call *call, const struct opener_process *process,
	const struct opening_range *ranges, size_t len, int *fd);
/* The same of words at these addresses. -ENODATA: the copy is short. */
int opener_call_words(struct opener_call *call, const struct opener_process *process,
	const uint64_t *addresses, size_t len, uint64_t *words);
int opener_call_mapped(
	struct opener_call *call, const struct opener_mapping *mapping, struct opener_found *found);
int opener_call_perf_map(struct opener_call *call, int dir_fd, const struct opener_process *process,
	pid_t ns_pid, uid_t uid, struct opener_found *found);

/* For struct scan_reader; ctx: the call. Of all processes within OPENER_SCAN_NS. */
#define OPENER_SCAN_NS 3000000000ULL
int opener_call_scan(void *ctx, int iterator_fd, uint32_t tgid, int *fd);

/* For jit/jit_files.h. */
struct jit_files_access opener_call_access(struct opener_call *call);

/* Paths to try, in their order. */
struct opener_paths {
	char text[PATH_MAX];
	size_t bytes;
	uint32_t len;
};

/* -ENOSPC: ask for those first. */
int opener_paths_add(struct opener_paths *paths, const char *path);

/* Where they are searched, and how what is found comes. */
struct opener_place {
	int fd; /* a root, or a folder; O_PATH */
	enum opening_rule rule;
	/* OPENING_OFFER: if its calls cannot wait. OPENING_PASS: always; only root and the caller
	 * chose what is there. OPENING_COPY: as a copy in memory. */
	enum opening_how how;
	uid_t uid;          /* of the rule */
	uint64_t bytes_max; /* of a copy */
	/* Who is blamed where the file system does not answer: others are not. */
	uint64_t blamed;
	uid_t blamed_uid; /* 0: nobody is known */
};

/* The first of the paths from *at on that there is; *at becomes its number, also if it is refused.
 * -ENOENT: no path leads to a file. */
int opener_call_files(struct opener_call *call, const struct opener_place *place,
	const struct opener_paths *paths, uint32_t *at, struct opener_found *found);
/* Appends the names in a folder, each with its NUL. */
int opener_call_list(struct opener_call *call, const struct opener_place *place, const char *path,
	struct buf *out);
/* As opener_above_cwd. */
int opener_call_above_cwd(struct opener_call *call, const struct opener_process *process, int *fd,
	char path[PATH_MAX]);
