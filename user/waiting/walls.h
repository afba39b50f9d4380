/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/walls.h - the time that threads wait, by the stacks in which they do. All threads of the
 * target are visited now and then (waiting/visitor.h). A thread that has no CPU at a visit is given
 * the time since the visit before, in the stack that it has: so a wait is seen in proportion to its
 * length, and the sum over many visits has no bias. Who had the CPU that the visitor took waits for
 * that alone, and is given the CPU time of this process. Time on a CPU belongs to CPU samples. The
 * time between visits varies by a fifth, so that nobody who sleeps with the same period hides from
 * them. Visits take a part of one CPU at most (waiting/visit_pace.h): with many threads they are
 * rarer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define WALLS_HZ_MAX 100
#define WALLS_CAPTURE_PART 20   /* of a CPU, one part in so many, where somebody asked for them, */
#define WALLS_DAEMON_PART 700   /* and where they are always on */
#define WALLS_END_TIMES 4
#define WALLS_THREADS_MAX 65536 /* in the table */

struct containers;
struct sampler;
struct tally;
struct walls;

struct walls_stats {
	uint64_t visits, threads;      /* threads that were visited, added up */
	uint64_t waiting_ns, lost_ns;  /* waits that were counted; without a known stack */
	uint64_t refused;              /* threads that found no room, added up */
	uint64_t unwalked;             /* stacks for which a visit had no time left */
	uint64_t cpu_ns;               /* of all visits */
	uint32_t asked_hz;
	double hz;                     /* rate of the latest visits; 0: less than two */
};

struct walls_options {
	uint32_t hz;   /* 1 to WALLS_HZ_MAX */
	uint32_t part; /* of one CPU, for visits: one part in so many */
	bool user;     /* with user halves of stacks */
	bool futexes;  /* with the addresses of futexes, of which each thread may have its own */
	bool optional; /* of wall_open: where there can be none, a warning says so */
	uint64_t spans_ns; /* the tally has the times of waits, in parts of this length; 0: none */
};

/* All are borrowed. Takes rights that are given up afterwards. With why; -EOPNOTSUPP: the kernel
 * has no iterator of tasks. */
int walls_open(const struct walls_options *options, struct sampler *sampler, struct tally *tally,
	struct containers *containers, struct walls **out, struct why *why);
void walls_free(struct walls *walls);
/* Why user halves are not walked; NULL: they are. */
const char *walls_lacks(const struct walls *walls);

/* The following take NULL, too. */
/* Visits all threads. The first visit counts nothing. 0 or -errno. */
int walls_visit(struct walls *walls);
/* CLOCK_MONOTONIC; CLOCK_NEVER_NS: walls is NULL. */
uint64_t walls_due_ns(const struct walls *walls);
/* Puts the time that is not there yet into the tally (tally_wait). 0 or -ENOMEM. */
int walls_flush(struct walls *walls);
/* An interval ends: likewise, after a visit if the latest is over a second old, so that each has
 * one, though visits are rare. They take WALLS_END_TIMES their part of a CPU at most: where that
 * does not suffice, an interval has none. As walls_visit. */
int walls_end(struct walls *walls);
/* Each thread that waited at its latest visit, and for how long it has had no CPU by then. */
typedef int walls_fn(void *ctx, uint32_t tid, uint64_t still_ns);
/* 0 or fn's first error. */
int walls_each(const struct walls *walls, walls_fn *fn, void *ctx);
void walls_stats(const struct walls *walls, struct walls_stats *out);
