/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/naming.h - raw frames → frames with names, in a profile.
 * File and kernel frames mean the same in every process and interval and are remembered as text;
 * JIT frames are looked up anew each interval, as late as its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/account.h"
#include "daemon/objects.h"
#include "daemon/processes.h"
#include "profile/profile.h"
#include "sampler/tally.h"
#include "sym/kernel_sym.h"

struct naming {
	struct objects *objects;         /* the agent's */
	struct processes *processes;     /* the agent's */
	const struct kernel_sym *kernel; /* NULL: kernel symbols are hidden */
	struct profile *profile;         /* where frames go now */
	struct hash known;               /* frame → id in profile, for what is not JIT */
	bool demangle;
};

void naming_done(struct naming *naming);
/* Frames go to this profile from now on. */
void naming_begin(struct naming *naming, struct profile *profile);

/* The profile's frame for a raw one that was sampled `weight` times; what it was named by, or why
 * not, is added to the account. 0 or -ENOMEM. */
int naming_frame(struct naming *naming, const struct tally_task *task, uint64_t frame,
	uint64_t weight, struct account *account, uint32_t *id);
