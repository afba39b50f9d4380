/* SPDX-License-Identifier: Apache-2.0 */
/* containers/tick_limits.h - carries the limits of containers/tick_shares.h into BPF. Each cgroup
 * of an account that has a limit of its own gets it: when limits are judged, and when a task is met
 * first. */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "containers/tick_shares.h"

struct containers;
struct sampler;
struct tally;
struct warnings;

struct tick_limits {
	struct tick_shares shares;
	struct sampler *sampler;
	struct containers *containers;
	const struct tally *tally;
	struct warnings *warnings;
	struct hash cgroups; /* cgroup → its limit in BPF */
	uint64_t *seen_ns;   /* by CPU, at the latest look */
};

/* All are borrowed. */
void tick_limits_init(struct tick_limits *limits, struct sampler *sampler,
	struct containers *containers, const struct tally *tally, struct warnings *warnings);
void tick_limits_done(struct tick_limits *limits);
/* A task of this cgroup had its first tick. */
void tick_limits_met(struct tick_limits *limits, uint64_t cgroup);
/* The most time that ticks took on one CPU since the last call. */
uint64_t tick_limits_dearest_ns(struct tick_limits *limits);
/* Judges what payers_charge charged since the last call; load->full_ns is set here. A warning names
 * each account that gets a limit. As tick_shares_judge. */
int tick_limits_judge(struct tick_limits *limits, struct tick_load *load);
