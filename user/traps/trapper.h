/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trapper.h - the daemon's traps, from its loop: when to look, when an interval is to be cut,
 * and the captures' way to the disk. Without traps in the configuration all of it is nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "traps/trap_bundle.h"
#include "agent/agent.h"

struct trapper {
	struct traps *traps; /* NULL: there are none */
	struct trap_bundle bundle;
	struct trap_capture *capture; /* that is being written */
	struct child writer;
	uint32_t hz_max; /* that the clocks were opened for */
};

/* hz: the usual rate. Rules and bundle are borrowed and must outlive the trapper. */
int trapper_open(struct trapper *trapper, const struct rules *rules, uint64_t hz,
	const struct trap_bundle *bundle, struct why *why);
void trapper_close(struct trapper *trapper);
/* rules holds what was in before up to now. */
void trapper_reload(struct trapper *trapper, const struct rules *before, const struct rules *rules);

/* A few times a second. 0 or -ENOMEM. */
int trapper_tick(struct trapper *trapper, struct agent *agent, uint64_t now_ns);
bool trapper_due(const struct trapper *trapper, uint64_t now_ns);
uint32_t trapper_hz(const struct trapper *trapper, uint64_t now_ns);
/* An interval's profile; it ended then. */
int trapper_take(struct trapper *trapper, const struct profile *profile, uint64_t ended_ns);
/* Writes what there is, and waits for it, but not long: a process that is not done by then goes on
 * by itself. */
void trapper_finish(struct trapper *trapper);
/* NULL: there are none. */
const struct account_traps *trapper_stats(struct trapper *trapper);
