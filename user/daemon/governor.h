/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/governor.h - how often to sample so that it costs no more than it may. Told what each
 * interval cost, it halves the rate where that was too much for a while, and doubles it when twice
 * the cost would be well within what is allowed: between the two it stays. Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "agent/account.h"

#define GOVERNOR_HZ_MIN 5                      /* never below this, or what is asked for */
#define GOVERNOR_WINDOW_NS (10 * NSEC_PER_SEC) /* intervals are added up to at least this */
#define GOVERNOR_WINDOWS_DOWN 2                /* so many windows in a row are too dear */
#define GOVERNOR_WINDOWS_UP 4                  /* or cheap enough */
#define GOVERNOR_UP_PERCENT 80                 /* of what is allowed, at twice the rate */

struct governor {
	uint32_t hz_set; /* what is asked for; 0: nothing is governed */
	uint32_t hz;     /* what it is to be now */
	uint64_t permille;
	uint64_t used_ns, wall_ns; /* of the window that is open */
	uint32_t dear, cheap;      /* windows in a row */
	/* told */
	uint64_t stepped_down, stepped_up;
	uint64_t cost_ppm; /* of one core, in the last whole window */
};

void governor_init(struct governor *governor, uint32_t hz, uint64_t permille);
/* CPU time and time of an interval at governor->hz. True: governor->hz is another one from now on.
 */
bool governor_feed(struct governor *governor, uint64_t used_ns, uint64_t wall_ns);
void governor_account(const struct governor *governor, struct account_governor *out);
