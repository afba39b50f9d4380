/* SPDX-License-Identifier: Apache-2.0 */
/* traps/traps.h - rules on how busy containers and the host are; one that fires gives a capture
 * that begins before it fired. The last seconds of what is always sampled are kept, with names, as
 * pieces of the intervals' profiles; when a trap fires, the interval is cut and the clocks run at
 * the trap's rate until its capture ends, where it is cut again. So each interval has one rate, and
 * a capture is put together of parts of several. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "agent/account.h"
#include "traps/rule.h"
#include "traps/trap.h"
#include "profile/profile.h"
#include "profile/slice.h"

#define TRAPS_CAPTURES_MAX 4    /* at a time, those that wait to be written with them */
#define TRAPS_PIECES_MAX 80     /* of what is kept of the past */
#define TRAPS_TICKS_MAX 1000000 /* of a capture */
#define TRAPS_RATES_MAX 16      /* that a capture tells of */

struct containers;
struct traps;

/* What was captured, and why. */
struct trap_capture {
	struct rule rule;
	struct trap trap;                   /* the values that made it fire, and those before */
	char *container, *pod, *namespace_; /* NULL: the host */
	uint64_t fired_ns, fired_real_ns;   /* CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t since_ns, until_ns;        /* CLOCK_MONOTONIC */
	struct trap_rate {
		uint64_t since_ns;
		uint32_t hz;
	} rates[TRAPS_RATES_MAX]; /* of what was sampled, in order; all that follow are the last's
				   */
	size_t rates_len;
	bool begun, done;
	struct slice slice;
	struct profile profile; /* of the highest rate: a tick of a lower one became several */
};

/* rules are borrowed, and not to be changed but by traps_reload. */
int traps_new(const struct rules *rules, struct log *log, struct traps **out);
void traps_free(struct traps *traps);
/* From now on rules holds what was in before up to now. */
void traps_reload(struct traps *traps, const struct rules *before, const struct rules *rules);

/* Looks at what is watched, when that is due; a few times a second. 0 or -ENOMEM. */
int traps_tick(struct traps *traps, struct containers *containers, uint64_t now_ns);
/* An interval should end now: a capture begins or ends. */
bool traps_due(const struct traps *traps, uint64_t now_ns);
/* What the next interval should be sampled at, if at more than usual; 0: as usual. */
uint32_t traps_hz(const struct traps *traps, uint64_t now_ns);
/* An interval's profile, with ticks; no tick behind ended_ns is missing from those before. */
int traps_take(struct traps *traps, const struct profile *profile, uint64_t ended_ns);
/* The next capture that is whole, the caller's; NULL: none. last: also what is not whole. */
struct trap_capture *traps_next(struct traps *traps, bool last);
void trap_capture_free(struct trap_capture *capture);
/* written and failed are the caller's to count. */
struct account_traps *traps_stats(struct traps *traps);

/* A bundle's folder is NAME-NNNN-UTC → NNNN, of so many digits at least; 0: it is no bundle of this
 * trap's. */
#define TRAPS_NUMBER_DIGITS 4
unsigned int traps_bundle_number(const char *file, const char *name);
