/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming.h - raw frames → frames with names, in a profile.
 * Names are asked for in batches, one a file or process: first all frames of an interval are told
 * (naming_want), then all are named (naming_resolve), then each is found (naming_frame). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "agent/account.h"
#include "agent/kernel_names.h"
#include "agent/objects.h"
#include "agent/processes.h"
#include "profile/profile.h"
#include "sampler/tally.h"
#include "client/client.h"

struct naming_place {
	uint64_t owner; /* kind, and object or process */
	uint64_t address;
	uint32_t first, len; /* in frame_ids: the function, behind what is inlined into it */
	int32_t source;      /* enum name_source, or -1 - enum unnamed_reason */
};

struct naming {
	struct objects *objects; /* the agent's, as the next three */
	struct processes *processes;
	struct worker_client *worker;
	const struct kernel_names *kernel;
	bool demangle;
	bool keep_tiers;                 /* of JIT names */
	bool spare;                      /* memory, rather than time */
	bool lines;                      /* inlined frames, source files and lines */
	struct profile *profile;         /* where frames go now */
	VEC(struct naming_place) places; /* once resolved: sorted, each once */
	VEC(uint32_t) frame_ids;         /* the profile's, innermost first */
	VEC(uint64_t) addresses;         /* of the batch at work */
	uint64_t until_ns;               /* when workers are not waited for any more */
	uint64_t lines_until_ns;         /* and when no more is asked than names */
	uint64_t at_ns;                  /* CLOCK_MONOTONIC of the samples, for code that goes */
	struct why note;                 /* what the user should know of; "" nothing */
};

void naming_done(struct naming *naming);
/* Frames go to this profile from now on; their samples were taken until at_ns. */
void naming_begin(
	struct naming *naming, struct profile *profile, uint64_t until_ns, uint64_t at_ns);
int naming_want(struct naming *naming, const struct tally_task *task, uint64_t raw);
int naming_resolve(struct naming *naming);

/* The profile's frames for a raw one that was wanted, and that was sampled `weight` times,
 * innermost first; the last is the function itself, the others are inlined into it. What it was
 * named by, or why not, is added to the account. *ids is good until the next naming_begin; returns
 * how many. */
uint32_t naming_frames(struct naming *naming, const struct tally_task *task, uint64_t raw,
	uint64_t weight, struct account *account, const uint32_t **ids);
