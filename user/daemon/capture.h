/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/capture.h - captures on demand, beside the daemon's own sampling. Each executes this
 * program as `stoker record`, with the daemon's remaining privileges and with BPF programs and maps
 * of its own. A pool limits how many run at once and how many start in a minute. The daemon's loop
 * waits on captures_fd and calls captures_poll. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define CAPTURE_AT_ONCE_MAX 8
#define CAPTURE_A_MINUTE_MAX 60
#define CAPTURE_WORDS_MAX 32
/* The most that a capture may write, to memory or to a file. */
#define CAPTURE_BYTES_MAX (512UL << 20)

struct capture_limits {
	size_t at_once;  /* up to CAPTURE_AT_ONCE_MAX */
	size_t a_minute; /* up to CAPTURE_A_MINUTE_MAX */
};

struct capture_order {
	const char *const *words; /* after `stoker record`, with NULL at the end */
	uint64_t most_ns;         /* killed then, be it done or not */
	int clocks_fd; /* which it is given, for clocks that it may not open (starter_invite); 0:
			* none; stays the caller's */
};

struct capture_result {
	uint64_t id;
	/* 0; -ENOENT: its target was not found; -EINVAL: more than one was, or the words are wrong;
	 * -EIO: it failed; -ETIMEDOUT: killed at its time; -ECANCELED: killed by captures_end */
	int err;
	struct why why; /* its last line on stderr: an error, or a warning or note */
	int fd; /* what it wrote to stdout, in memory, from its beginning: TAKE_FD keeps it */
};

typedef void (*capture_done_fn)(void *ctx, struct capture_result *result);

struct capture_stats {
	uint64_t started, done, failed, refused; /* failed: killed too */
	uint64_t cpu_ns;                         /* of those that are over */
	size_t running;
};

struct captures;

/* done is called once for each that was started, from a captures_poll; not from captures_free. */
int captures_new(const struct capture_limits *limits, capture_done_fn done, void *ctx,
	struct captures **out, struct why *why);
/* Kills all that run. */
void captures_free(struct captures *captures);
DEFINE_CLEANUP(struct captures, captures_free)

/* Readable when one is over; the same for the pool's life. */
int captures_fd(const struct captures *captures);
/* Call it also a few times a second, for those that take too long. */
void captures_poll(struct captures *captures);

/* 0, and *id is what the result will have. -EBUSY: as many as may be at once; -EAGAIN: or in a
 * minute; both with when to ask again in *retry_ns (CLOCK_MONOTONIC, from now). Others: it cannot
 * be started. */
int captures_start(struct captures *captures, const struct capture_order *order, uint64_t *id,
	uint64_t *retry_ns, struct why *why);
/* Kills a capture that nobody wants any more. Does nothing if it has ended. */
void captures_end(struct captures *captures, uint64_t id);
void captures_stats(const struct captures *captures, struct capture_stats *out);

/* For the one that was started: what it was given, its own from now on; 0: none. */
int capture_clocks_fd(void);
