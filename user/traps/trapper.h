/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trapper.h - runs the traps in the daemon's loop: when to measure, when to end an interval,
 * and how captures get to disk. Without configured traps all functions do nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "traps/trap_bundle.h"
#include "agent/agent.h"

struct trapper {
	struct traps *traps; /* NULL: none */
	struct trap_bundle bundle;
	struct trap_capture *capture; /* the capture that is being written */
	struct child writer;
	uint32_t hz_max; /* limit of the clocks that were opened */
};

/* hz: the usual rate. Rules and bundle are borrowed and must outlive the trapper. */
int trapper_open(struct trapper *trapper, const struct rules *rules, uint64_t hz,
	const struct trap_bundle *bundle, struct why *why);
void trapper_close(struct trapper *trapper);
/* rules has new contents; before has the old ones. */
void trapper_reload(struct trapper *trapper, const struct rules *before, const struct rules *rules);

/* Call it when it is due, and when trapper_fd is readable. 0 or -ENOMEM. */
int trapper_tick(struct trapper *trapper, struct agent *agent, uint64_t now_ns);
uint64_t trapper_due_ns(const struct trapper *trapper);
/* Readable when a capture was written; -1: none is being written. It changes with each. */
int trapper_fd(const struct trapper *trapper);
/* When the interval should end; CLOCK_NEVER_NS: it need not. */
uint64_t trapper_cut_ns(const struct trapper *trapper);
uint32_t trapper_hz(const struct trapper *trapper, uint64_t now_ns);
/* Takes an interval's profile, which ended at ended_ns. */
int trapper_take(struct trapper *trapper, struct agent *agent, const struct profile *profile,
	uint64_t ended_ns);
/* Writes the remaining captures until then (CLOCK_MONOTONIC). A writer that is still running goes
 * on alone; the log names it, and captures that are lost. */
void trapper_finish(struct trapper *trapper, uint64_t until_ns);
/* NULL: no traps. */
const struct account_traps *trapper_stats(struct trapper *trapper);
