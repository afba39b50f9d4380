/* SPDX-License-Identifier: Apache-2.0 */
/* replay_world.h - what the agent sees in place of a kernel, of processes and of /proc: a
 * recording. Linked before libstoker.a, replay_sampler.c takes the place of sampler/sampler.c and
 * code_events.c, replay_host.c that of proc/opener.c, cgroup/tree.c and others, so that the agent
 * itself is the product's. */
#pragma once

#include <stdbool.h>

#include "handover.h"

/* The functions that are replaced have no context: it is set before the agent is opened. */
struct replay_world {
	struct handover handover;
	int root; /* the folder of the recorded files */
};

extern struct replay_world replay_world;

#define EACH_LINE(line) vec_each (&replay_world.handover.lines, line)

/* The agent has all events but the counts, and the table of each file that it could open. */
bool replay_is_over(void);
