/* SPDX-License-Identifier: Apache-2.0 */
/* replay_world.h - what the agent sees in place of a kernel, of processes and of /proc: a
 * recording. Linked before libstoker.a, replay_sampler.c takes the place of sampler/sampler.c and
 * code_events.c, replay_host.c that of proc/opener.c, cgroup/tree.c and others, so that the agent
 * itself is the product's. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "handover.h"

/* The functions that are replaced have no context: it is set before the agent is opened. */
struct replay_world {
	struct handover handover;
	int root;  /* the folder of the recorded files */
	pid_t pid; /* ours: an opener has no descriptor of ours and no file system but /proc */
};

extern struct replay_world replay_world;

/* The `profile` line at this interval's end; NULL: there is no further interval. */
const char *replay_interval(void);
/* The agent has all of the interval's events but its counts, and the table of each file that it
 * could open. */
bool replay_is_over(void);
/* Its profile was made: the next interval begins. */
void replay_next(void);
