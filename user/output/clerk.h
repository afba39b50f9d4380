/* SPDX-License-Identifier: Apache-2.0 */
/* output/clerk.h - the part of `record` that needs the caller's own rights, in a process that keeps
 * them: it writes files where the caller may, and turns perf maps on and off. It is forked before
 * the agent gives its privileges up, and all it gets from there is bytes to write. Where the
 * program has file capabilities it drops them, so that they write nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "output/output.h"

struct clerk {
	pid_t pid; /* 0: none */
	int fd;
};

#define CLERK_INIT        \
	{                 \
		.fd = -1, \
	}

/* What the clerk knows from the start. */
struct clerk_options {
	const char *pattern; /* of output/output.h, as gzip */
	bool gzip;
	const char *bundle;     /* a folder, in place of the pattern; NULL: none */
	const char *stats_path; /* NULL: none */
	const uint32_t *jit_pids;
	size_t jit_pids_len; /* 0: no perf maps are turned on */
	struct log *log;
};

/* With the signals blocked that are to end the capture: they are for the caller. */
int clerk_open(struct clerk *clerk, const struct clerk_options *options, struct why *why);
/* What was turned on is turned off, also when the caller is killed instead. */
void clerk_close(struct clerk *clerk);

/* A profile under the pattern as it reads at `when`, in pieces. path gets the file's name. After an
 * error nothing is left of it. */
int clerk_begin(struct clerk *clerk, time_t when, char path[OUTPUT_PATH_MAX], struct why *why);
/* The same of the i-th file of a bundle; and their archive. */
int clerk_begin_file(
	struct clerk *clerk, uint32_t i, time_t when, char path[OUTPUT_PATH_MAX], struct why *why);
int clerk_pack(struct clerk *clerk, time_t when, struct why *why);
/* Makes the bundle's folder. */
int clerk_make_folder(struct clerk *clerk, struct why *why);
int clerk_put(struct clerk *clerk, const struct buf *bytes, struct why *why);
int clerk_end(struct clerk *clerk, struct why *why);
/* Nothing is left of what was begun; nothing happens where nothing was. */
int clerk_abort(struct clerk *clerk, struct why *why);
int clerk_write_stats(struct clerk *clerk, const struct buf *bytes, struct why *why);

/* Turns perf maps on; has them brought up to date. What cannot be is warned of. */
int clerk_jit_start(struct clerk *clerk, struct why *why);
int clerk_jit_refresh(struct clerk *clerk, struct why *why);
