/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fill.h - an interval's counts become a profile's samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/account.h"
#include "agent/naming.h"
#include "profile/profile.h"
#include "sampler/tally.h"

#define FILL_RAW_MAX (STACK_USER_FRAMES_MAX + STACK_KERNEL_FRAMES_MAX + 1)
#define FILL_FRAMES_MAX (4 * FILL_RAW_MAX) /* with those that are inlined */

struct processes;
struct containers;

/* All are borrowed. */
struct fill {
	struct profile *profile;
	struct tally *tally;
	struct naming *naming; /* begun */
	struct processes *processes;
	struct containers *containers;
	struct account *account;
	bool last;                         /* no more are sampled: there is time to wait */
	VEC(struct profile_sample) filled; /* by index of the count: its stack and labels */
	uint32_t frames[FILL_FRAMES_MAX];  /* of the stack that is being built */
};

/* Tells naming of every frame that is counted, and has them named. */
int fill_names(struct fill *fill);
/* Adds all counts: stacks, their labels, how often; and the ticks that are due, with their times.
 * What an error cut short is in the profile as far as it came. */
int fill_samples(struct fill *fill);
void fill_done(struct fill *fill);
