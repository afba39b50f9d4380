/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/visit_pace.h - when the next visit to all threads is due: a period after the latest one,
 * or later, so that visits take a part of one CPU at most. Their cost is a moving average, whose
 * sum is that of the costs: over many visits the part holds, a dear visit is paid for over the
 * next ones, and a cheap one brings the next hardly nearer. Makes no system call. */
#pragma once

#include <stdint.h>

#define VISIT_PACE_AVERAGE 8 /* visits that the average is about */
#define VISIT_PACE_VARIES 5  /* the time between visits by one part in so many, both ways */

struct visit_pace {
	uint64_t period_ns; /* of the rate that was asked for */
	uint32_t part;      /* of one CPU: one part in so many */
	uint32_t random;    /* state; not 0 */
	uint64_t sum_ns;    /* VISIT_PACE_AVERAGE times the average cost */
};

/* hz, part > 0. The average begins with 0, so the first visits to many threads come soon: once,
 * they take VISIT_PACE_AVERAGE - 1 visits' cost more than the part. */
void visit_pace_init(struct visit_pace *pace, uint32_t hz, uint32_t part, uint32_t random);
/* A visit took so much CPU time: from its begin to that of the next one, in ns. */
uint64_t visit_pace_next_ns(struct visit_pace *pace, uint64_t cost_ns);
