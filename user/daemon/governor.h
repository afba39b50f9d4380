/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/governor.h - chooses the frequency so that sampling stays within its CPU budget. From each
 * interval's cost it halves the frequency when that was too high for a while, and doubles it when
 * twice the cost would be well within the budget; in between it stays. Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "agent/account.h"

#define GOVERNOR_HZ_MIN 5                      /* lower limit, unless less is configured */
#define GOVERNOR_WINDOW_NS (10 * NSEC_PER_SEC) /* minimum length of a window */
#define GOVERNOR_WINDOWS_DOWN 2                /* expensive windows in a row before a step down */
#define GOVERNOR_WINDOWS_UP 4                  /* cheap windows in a row before a step up */
#define GOVERNOR_UP_PERCENT 80                 /* of the budget, at twice the frequency */

struct governor {
	uint32_t hz_set; /* configured frequency; 0: not governed */
	uint32_t hz;     /* current frequency */
	uint64_t permille;
	uint64_t used_ns, wall_ns; /* of the open window */
	uint32_t dear, cheap;      /* expensive and cheap windows in a row */
	/* counters for the account */
	uint64_t stepped_down, stepped_up;
	uint64_t cost_ppm; /* of one core, in the latest complete window */
};

void governor_init(struct governor *governor, uint32_t hz, uint64_t permille);
/* Adds the CPU time and length of an interval at governor->hz. True: governor->hz has changed. */
bool governor_feed(struct governor *governor, uint64_t used_ns, uint64_t wall_ns);
void governor_account(const struct governor *governor, struct account_governor *out);
