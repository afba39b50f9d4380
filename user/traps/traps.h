/* SPDX-License-Identifier: Apache-2.0 */
/* traps/traps.h - rules on the load of containers and the host; a rule that fires gives a capture
 * that begins before it fired. The last seconds of the continuous samples are kept, with names, as
 * pieces of the intervals' profiles. When a trap fires, the interval ends, and the clocks run at
 * the trap's rate until its capture ends; then the interval ends again. So each interval has one
 * rate, and a capture is assembled from parts of several. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/log.h"
#include "agent/account.h"
#include "traps/rule.h"
#include "traps/thread_times.h"
#include "traps/trap.h"
#include "profile/profile.h"
#include "profile/slice.h"

#define TRAPS_CAPTURES_MAX 4    /* limit, including those that wait to be written */
#define TRAPS_PIECES_MAX 80     /* limit of kept pieces of the past */
#define TRAPS_TICKS_MAX 1000000 /* limit of a capture */
#define TRAPS_RATES_MAX 16      /* limit of rates in a capture's list */
#define TRAPS_NAME_MAX 512
#define TRAPS_STILL_NS (2 * NSEC_PER_SEC)

struct containers;
struct traps;
struct waiting;
struct walls;

/* Times of threads, summed over some visits. */
struct trap_threads {
	struct thread_split split;
	uint64_t past_ns; /* 0: nothing is known */
	uint32_t threads; /* at the latest of the visits */
};

/* A capture and its cause. */
struct trap_capture {
	struct rule rule;
	struct trap trap;                   /* the values that made it fire, and earlier ones */
	char name[TRAPS_NAME_MAX];          /* of its subject, in words */
	char *container, *pod, *namespace_; /* NULL: any */
	uint32_t pid;                       /* 0: any */
	struct thread_pids pids; /* of a process or a command; else none, which means all */
	struct trap_threads before, after;
	uint64_t fired_ns, fired_real_ns; /* CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t since_ns, until_ns;      /* CLOCK_MONOTONIC */
	struct trap_rate {
		uint64_t since_ns;
		uint32_t hz;
	} rates[TRAPS_RATES_MAX]; /* sampling rates in order; further ones equal the last */
	size_t rates_len;
	bool begun, done;
	struct slice slice;
	struct profile profile; /* at the highest rate: a tick of a lower one becomes several */
	/* Its threads' waits, of the intervals that ended when it fired, or after. */
	struct trap_waits {
		struct profile profile;
		uint64_t past_ns; /* all of those intervals; 0: there are none */
		struct hash still; /* thread → ns without a CPU, TRAPS_STILL_NS or more */
	} waits_before, waits_after;
};

/* rules are borrowed; change them by traps_reload only. */
int traps_new(const struct rules *rules, struct log *log, struct traps **out);
void traps_free(struct traps *traps);
/* rules has new contents; before has the old ones. */
void traps_reload(struct traps *traps, const struct rules *before, const struct rules *rules);

/* Measures when it is due: call it then, or earlier. waiting: NULL, threads cannot be read. 0 or
 * -ENOMEM. */
int traps_tick(struct traps *traps, struct containers *containers, struct waiting *waiting,
	uint64_t now_ns);
uint64_t traps_due_ns(const struct traps *traps);
/* When the interval should end, because a capture begins or ends; CLOCK_NEVER_NS: need not. */
uint64_t traps_cut_ns(const struct traps *traps);
/* The rate for the next interval, if higher than usual; 0: the usual one. */
uint32_t traps_hz(const struct traps *traps, uint64_t now_ns);
/* Takes an interval's profile, with ticks; it contains all ticks up to ended_ns. walls: NULL, or
 * the source of its waits. */
int traps_take(struct traps *traps, const struct profile *profile, const struct walls *walls,
	uint64_t ended_ns);
/* The next complete capture, the caller's; NULL: none. last: also incomplete ones. */
struct trap_capture *traps_next(struct traps *traps, bool last);
void trap_capture_free(struct trap_capture *capture);
/* The caller counts written and failed. */
struct account_traps *traps_stats(struct traps *traps);

/* The number NNNN of a bundle's folder NAME-NNNN-UTC, with at least this many digits; 0: not a
 * bundle of this trap. */
#define TRAPS_NUMBER_DIGITS 4
unsigned int traps_bundle_number(const char *file, const char *name);
