/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_maps.h - `record --jit`: the clerk that turns perf maps on, beside the one that writes
 * files: a runtime that does not answer takes it seconds. */
#pragma once

#include "base/err.h"
#include "output/clerk.h"

struct agent;

struct record_maps {
	struct clerk clerk;
	uint64_t after; /* as of processes_met */
	uint32_t pid;   /* one that the clerk did not take yet; 0: none */
};

#define RECORD_MAPS_INIT             \
	{                            \
		.clerk = CLERK_INIT, \
	}

/* The first ones are those of options, of which each gets its map before this returns. */
int record_maps_open(
	struct record_maps *maps, const struct clerk_options *options, struct why *why);
/* The same for the processes that the agent has met since the last call. Does not wait. */
void record_maps_meet(struct record_maps *maps, struct agent *agent);
/* Before names are read. */
void record_maps_refresh(struct record_maps *maps);
/* Turns them off and removes their files. */
void record_maps_close(struct record_maps *maps);
