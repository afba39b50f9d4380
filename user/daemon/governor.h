/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/governor.h - chooses the frequency so that sampling stays within its two CPU budgets: a
 * part of each CPU for ticks, and as much of one core for all the rest. From each interval's cost
 * it halves the frequency when one of them was too high for a while, and doubles it when twice the
 * cost would be well within both; in between it stays. Where it is the ticks, accounts give first
 * (containers/tick_shares.h). Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "agent/account.h"
#include "containers/tick_shares.h"

#define GOVERNOR_HZ_MIN 5                      /* lower limit, unless less is configured */
#define GOVERNOR_WINDOW_NS (10 * NSEC_PER_SEC) /* minimum length of a window */
#define GOVERNOR_WINDOWS_DOWN 2                /* expensive windows in a row before a step down */
#define GOVERNOR_WINDOWS_UP 4                  /* cheap windows in a row before a step up */
#define GOVERNOR_UP_PERCENT 80                 /* of the budget, at twice the frequency */

struct log;

struct governor_cost {
	uint64_t wall_ns;
	uint64_t used_ns;  /* CPU time of all processes */
	uint64_t ticks_ns; /* by ticks, on the CPU where they took most */
};

struct governor {
	uint32_t hz_set; /* configured frequency; 0: not governed */
	uint32_t hz;     /* current frequency */
	uint64_t permille;
	struct governor_cost open; /* of the open window */
	bool ended;                /* the latest cost ended a window */
	bool spent;                /* no account has anything to give; the caller sets it */
	uint32_t dear, cheap;      /* expensive and cheap windows in a row */
	/* counters for the account */
	uint64_t stepped_down, stepped_up;
	uint64_t cost_ppm, ticks_ppm; /* in the latest complete window */
};

void governor_init(struct governor *governor, uint32_t hz, uint64_t permille);
/* Adds the cost of an interval at governor->hz. True: governor->hz has changed. */
bool governor_feed(struct governor *governor, const struct governor_cost *cost);
/* Says that governor->hz has changed, and why; nothing if the log says so already. */
void governor_log(const struct governor *governor, uint32_t before_hz, struct log *log);
/* Accounts are judged by this when a window has ended. */
struct tick_load governor_load(const struct governor *governor);
void governor_account(const struct governor *governor, const struct tick_shares *ticks,
	struct account_governor *out);
