/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/keeper.h - the process that writes the store. It has no capability and reads only the
 * store's own files. The daemon sends it each interval's folded text and goes on sampling while the
 * keeper packs it, syncs it to disk, compacts old segments and removes expired ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/err.h"
#include "base/log.h"
#include "profile/kinds.h"
#include "sink/sink.h"
#include "store/retention.h"
#include "store/segment.h"

#define KEEPER_KINDS_MAX (PROFILE_KINDS_MAX - 1)

/* Sums over all keepers so far. */
struct keeper_status {
	uint64_t segments, bytes; /* in the store now */
	uint64_t newest_ns, oldest_ns;
	uint64_t written, failed, expired, compacted, damaged;
	uint64_t lost; /* keepers that were lost */
	int err;       /* of the last interval */
	struct why why;
};

struct keeper_order;

struct keeper {
	struct child child; /* readable when an interval was written or given up */
	bool busy;          /* with the last interval */
	const char *path;
	struct log *log;
	struct keeper_order *order; /* the last interval, until it is written */
	int memory;                 /* shared with the keeper: the bytes of the interval */
	unsigned int tries;
	uint64_t look_ns; /* CLOCK_MONOTONIC: a keeper that is still busy then may hang */
	struct keeper_status status;
};

#define KEEPER_INIT                                \
	{                                          \
		.child = CHILD_INIT, .memory = -1, \
	}

/* Opens the store first, and returns what is wrong with it; if it is there and only takes nothing
 * now (err_unwritable), that is in *status. path and log are borrowed. A keeper
 * that is lost is replaced, under the same descriptor, and one that hangs is killed first. The
 * keeper closes foreign_fd (-1: none), and ends with its caller. */
int keeper_open(struct keeper *keeper, const char *path, int foreign_fd, struct log *log,
	struct keeper_status *status, struct why *why);
/* A keeper that is still busy goes on alone where it works or waits for its disk, and else is
 * killed: its interval is lost. */
void keeper_close(struct keeper *keeper);

/* Sends an interval, with the texts of about->kinds, KEEPER_KINDS_MAX at most; not while the keeper
 * is busy. The keeper then removes expired segments and
 * compacts hours. */
int keeper_put(struct keeper *keeper, const struct segment_about *about, const struct retention *r,
	const struct buf *text, struct why *why);
/* The same with the texts of a profile's kinds, which options say how to write; about has none. */
int keeper_put_profile(struct keeper *keeper, struct segment_about *about,
	const struct retention *r, const struct profile *profile,
	const struct sink_options *options, struct why *why);
enum keeper_news {
	KEEPER_NOTHING_NEW,
	KEEPER_ANSWERED, /* the interval was written, or status->err is why not */
	KEEPER_GIVEN_UP, /* keeper after keeper was lost over the interval */
};

/* Takes the keeper's answer. Call it also while nothing is being written: it replaces a keeper that
 * is lost. *status is set with KEEPER_ANSWERED. Waits for a busy keeper until then
 * (CLOCK_MONOTONIC); 0: not at all. */
enum keeper_news keeper_take(
	struct keeper *keeper, uint64_t until_ns, struct keeper_status *status);
/* CLOCK_MONOTONIC: when to call keeper_take although there is no answer. */
uint64_t keeper_due_ns(const struct keeper *keeper);
