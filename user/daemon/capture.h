/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/capture.h - captures on demand, beside the daemon's own sampling: each executes this
 * program as `stoker record`, with the privileges that the daemon has kept and with BPF programs
 * and maps of its own. The daemon's starter starts them, if that is one of its duties: the daemon
 * itself executes nothing. A pool limits how many run at once and how many start a minute. The
 * daemon's loop waits on captures_fd and calls captures_poll. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "client/starter.h"

#define CAPTURE_AT_ONCE_MAX 8
#define CAPTURE_A_MINUTE_MAX 60
#define CAPTURE_WORDS_MAX 32
/* The size limit of each file that a capture writes, in memory too. */
#define CAPTURE_BYTES_MAX (512UL << 20)

struct capture_limits {
	size_t at_once;  /* up to CAPTURE_AT_ONCE_MAX */
	/* Up to CAPTURE_A_MINUTE_MAX, without those that found no target, of which there may be as
	 * many as that. */
	size_t a_minute;
	struct log *log; /* NULL: none */
};

struct capture_order {
	const void *wanted; /* for starter_capture */
	size_t size;
	bool maps; /* of its starter's duty, too */
	uint64_t most_ns; /* deadline, from now on: the capture is killed then */
};

struct capture_result {
	uint64_t id;
	/* 0; -ENOENT: its target was not found; -EINVAL: more than one was, or the words are wrong;
	 * -EIO: it failed; -ETIMEDOUT: killed at its deadline; -ECANCELED: by captures_end */
	int err;
	struct why why; /* the last line of its messages */
	int fd;         /* stdout, a file in memory at its beginning: TAKE_FD keeps it */
};

typedef void (*capture_done_fn)(void *ctx, struct capture_result *result);

struct capture_stats {
	uint64_t started, done, failed, refused; /* failed: with those that were killed */
	uint64_t not_found; /* or more than one was: no part of failed */
	uint64_t cpu_ns;                         /* of the captures that have ended */
	size_t running;
};

struct captures;

/* captures_poll calls done once for each capture that was started; captures_free does not. starter
 * is borrowed. */
int captures_new(const struct capture_limits *limits, struct starter *starter, capture_done_fn done,
	void *ctx, struct captures **out, struct why *why);
/* Kills all that run. */
void captures_free(struct captures *captures);
DEFINE_CLEANUP(struct captures, captures_free)

/* Readable when a capture has ended, or any child was stopped; the same for the pool's life. */
int captures_fd(const struct captures *captures);
/* Call it also when it is due (CLOCK_NEVER_NS: nothing is): it kills captures at their deadline,
 * and continues those that others stopped. True: other children may have been stopped, too. */
bool captures_poll(struct captures *captures);
uint64_t captures_due_ns(const struct captures *captures);

/* 0, and *id is the result's. -EBUSY: the limit at once is reached; -EAGAIN: the limit a minute is
 * reached; both with *retry_ns, how long until another try. Others: it cannot be started. */
int captures_start(struct captures *captures, const struct capture_order *order, uint64_t *id,
	uint64_t *retry_ns, struct why *why);
/* Kills it. An id of a capture that has ended is ignored. */
void captures_end(struct captures *captures, uint64_t id);
void captures_stats(const struct captures *captures, struct capture_stats *out);

/* For struct starter_duties: executes `stoker record` with these arguments; NULL ends them. Returns
 * an exit status if it cannot. */
int capture_exec(const char *const *words, bool clocks);
/* The same for what HTTP asks for, as struct http_message, which is checked. maps: its runtimes are
 * made to write perf maps, if it asks for that. */
int capture_become(const void *wanted, uint64_t tick_limit_us, const char *tables, bool maps,
	bool clocks);
/* Is this process a capture? For the capture itself, before: */
bool capture_is_this(void);
/* Its socket for clocks, which it owns; 0: none. */
int capture_clocks_fd(void);
/* Its socket for perf_maps_join; -1: none. */
int capture_maps_fd(void);
