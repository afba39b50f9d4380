/* SPDX-License-Identifier: Apache-2.0 */
/* output/clerk.h - the process that keeps the caller's own rights for `record`: it writes files
 * where the caller may. Another one turns perf maps on and off. It is forked before the agent drops
 * its privileges, and gets nothing from the agent but orders and bytes to write. Where the program
 * has file capabilities, the clerk drops them, so it writes no file by their rights. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/err.h"
#include "base/log.h"
#include "output/jit_sessions.h"
#include "output/output.h"

struct clerk {
	struct child child;
	int memory;  /* shared with the clerk: the bytes of an order */
	int signals; /* borrowed: readable when it must hurry; -1: never */
	bool hurried;
	/* While an answer is waited for: called when events is readable, and each 200 ms. After an
	 * error it is not called again, and the call that waited fails. NULL: none. */
	int (*meanwhile)(void *ctx);
	void *ctx;
	int events; /* borrowed */
	uint64_t due_ns;
};

#define CLERK_INIT                                                              \
	{                                                                       \
		.child = CHILD_INIT, .memory = -1, .signals = -1, .events = -1, \
	}

/* The clerk has a copy of them. */
struct clerk_options {
	const char *pattern; /* of output/output.h, as gzip */
	bool gzip;
	bool keep;              /* as of struct output; a bundle's files are kept in any case */
	const char *bundle;     /* a folder, in place of the pattern; NULL: none */
	const char *stats_path; /* NULL: none, as the next */
	const char *check_path;
	const uint32_t *jit_pids; /* of clerk_jit_start */
	size_t jit_pids_len;
	const char *const *jit_notes; /* as of jit_sessions_begin; NULL: nothing is noted */
	struct log *log;
};

/* The outputs as they were tried at the start. */
struct clerk_tried {
	struct output profile, stats, check;
};

/* Finds out before sampling whether the outputs can be written, and whether one would replace
 * another: -EINVAL. A FIFO stays open, so that its reader waits for the clerk. */
int clerk_try(const struct clerk_options *options, struct clerk_tried *tried, struct why *why);
void clerk_tried_close(struct clerk_tried *tried);

/* To be called with the signals blocked that end the capture: only the caller obeys them. */
int clerk_open(struct clerk *clerk, const struct clerk_options *options, struct why *why);
/* A clerk of perf maps alone. */
int clerk_open_jit(struct clerk *clerk, const struct clerk_options *options, struct why *why);
/* The same in this process, until its socket's other end is closed. Returns the exit status. */
int clerk_serve_jit(const struct clerk_options *options, int fd);
/* Turns perf maps off that were turned on; so does the end of the caller. */
void clerk_close(struct clerk *clerk);
/* Has it ended? */
bool clerk_is_lost(const struct clerk *clerk);

/* From now on readers must take bytes at once (OUTPUT_HURRY_MS). So it is when a signal comes while
 * an answer is waited for. */
void clerk_hurry(struct clerk *clerk);

/* Begins a file for a profile, whose bytes follow in pieces. Its name is the pattern at `when`;
 * path gets it. After an error the file is removed. */
int clerk_begin(struct clerk *clerk, time_t when, char path[OUTPUT_PATH_MAX], struct why *why);
/* The same for the i-th file of a bundle; and its archive. */
int clerk_begin_file(
	struct clerk *clerk, uint32_t i, time_t when, char path[OUTPUT_PATH_MAX], struct why *why);
int clerk_pack(struct clerk *clerk, time_t when, struct why *why);
/* Makes the bundle's folder. */
int clerk_make_folder(struct clerk *clerk, struct why *why);
int clerk_put(struct clerk *clerk, const struct buf *bytes, struct why *why);
int clerk_end(struct clerk *clerk, struct why *why);
/* Removes the file that was begun, if one was. */
int clerk_abort(struct clerk *clerk, struct why *why);
/* To stats_path or check_path. */
int clerk_write_stats(struct clerk *clerk, const struct buf *bytes, struct why *why);
int clerk_write_check(struct clerk *clerk, const struct buf *bytes, struct why *why);

/* Turns perf maps on. Warns of processes where that fails. */
int clerk_jit_start(struct clerk *clerk, struct why *why);
/* Of one more process, without waiting for it. -EAGAIN: it cannot take the order now; -EPIPE: it is
 * lost. */
int clerk_jit_meet(struct clerk *clerk, uint32_t pid, uint64_t account);
/* Brings them up to date. */
int clerk_jit_refresh(struct clerk *clerk, struct jit_stats *stats, struct why *why);
/* The same without waiting; clerk_jit_hear takes its answer. -EAGAIN: not now, or not yet; -EPIPE:
 * it is lost. */
int clerk_jit_begin_refresh(struct clerk *clerk);
int clerk_jit_hear(struct clerk *clerk, struct jit_stats *stats);
