/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/keeper.h - the process that writes the store. It has no capability and reads nothing but
 * the store's own files; the daemon hands it each interval's folded text and goes on sampling while
 * it packs, brings to disk, puts old segments together and removes what is too old. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "store/retention.h"
#include "store/segment.h"

/* Of all that the keeper did so far. */
struct keeper_status {
	uint64_t segments, bytes; /* in the store now */
	uint64_t newest_ns, oldest_ns;
	uint64_t written, failed, expired, compacted, damaged;
	uint64_t lost; /* keepers that ended before they should */
	int err;       /* of the last interval */
	struct why why;
};

struct keeper_order;

struct keeper {
	pid_t pid; /* 0: none */
	int fd;    /* readable when an interval was written or given up */
	bool busy; /* with the last interval */
	const char *path;
	struct log *log;
	struct keeper_order *order; /* the last interval, until it is written */
	int order_fd;
	unsigned int tries;
	struct keeper_status status;
};

#define KEEPER_INIT                       \
	{                                 \
		.fd = -1, .order_fd = -1, \
	}

/* Opens the store first: what is wrong with it is the caller's to say. path and log are borrowed. A
 * keeper that is lost is replaced, under the same descriptor. foreign_fd, if it is one, is closed
 * in the keeper, which may outlive its caller for as long as it writes. */
int keeper_open(struct keeper *keeper, const char *path, int foreign_fd, struct log *log,
	struct keeper_status *status, struct why *why);
/* Waits for the last interval to be written. */
void keeper_close(struct keeper *keeper);

/* Hands an interval over; not while the keeper is busy. What is older than the retention says goes,
 * and hours become one. */
int keeper_put(struct keeper *keeper, const struct segment_about *about, const struct retention *r,
	const struct buf *text, struct why *why);
/* What became of it; to be called while nothing is being written, too. -EAGAIN: nothing new;
 * -EPIPE: keeper after keeper was lost over it, and it is given up. */
int keeper_take(struct keeper *keeper, bool wait, struct keeper_status *status);
