/* SPDX-License-Identifier: Apache-2.0 */
/* containers/tick_shares.h - the time that ticks took, by account (container_account), and which
 * accounts give back some of it. Ticks may take a part of each CPU. An account has ticks in
 * proportion to its CPU time, so its part is what the budget gives each tick, for each of its
 * ticks. Where the ticks of some CPU come near the budget, accounts that took more than their part
 * give back what is above it, whoever took most first (base/share.h); the others are not touched.
 * When all are down to their part, every CPU is within its budget. Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

#define TICK_SHARES_WINDOWS_UP 4 /* cheap windows in a row before limits are raised */

struct tick_account {
	uint64_t number;
	uint64_t cgroup; /* one of its own, for its name */
	uint64_t ticks;
	uint64_t took_ns;
	uint64_t limit_ns; /* of a tick's walk; 0: it has none of its own */
	bool is_new;       /* the limit: of the latest judgement */
};

struct tick_shares {
	VEC(struct tick_account) accounts;
	struct hash by_number; /* account → index */
	uint32_t cheap;        /* cheap windows in a row */
	uint32_t limited;      /* accounts with a limit of their own */
};

struct tick_load {
	uint64_t cost_ppm;    /* of the CPU on which ticks took most */
	uint64_t allowed_ppm; /* of each CPU */
	uint64_t period_ns;   /* from tick to tick */
	uint64_t full_ns;     /* limit of a tick's walk for whoever has none of its own */
	bool may_raise;       /* nothing else is to be given back before limits are */
};

enum tick_verdict {
	TICK_SHARES_KEPT,    /* all limits stay */
	TICK_SHARES_CHANGED, /* the next window shows what it helps */
	TICK_SHARES_SPENT,   /* near the budget, and nobody has anything to give back */
};

void tick_shares_done(struct tick_shares *shares);
/* 0 or -ENOMEM: not charged. */
int tick_shares_charge(struct tick_shares *shares, uint64_t account, uint64_t cgroup,
	uint64_t ticks, uint64_t took_ns);
/* Sets the limits for what was charged since the last call. A verdict, or -ENOMEM: as it was. */
int tick_shares_judge(struct tick_shares *shares, const struct tick_load *load);
/* 0: none of its own. */
uint64_t tick_shares_limit(const struct tick_shares *shares, uint64_t account);
