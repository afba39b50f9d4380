/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fill.h - an interval's counts become a profile's samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/account.h"
#include "agent/naming.h"
#include "profile/profile.h"
#include "sampler/tally.h"

#define FILL_RAW_MAX (STACK_USER_FRAMES_MAX + STACK_KERNEL_FRAMES_MAX + 2) /* and two marks */
#define FILL_FRAMES_MAX (4 * FILL_RAW_MAX) /* including inlined ones */

struct objects;
struct processes;
struct containers;

/* All pointers are borrowed. */
struct fill {
	struct profile *profile;
	struct tally *tally;
	struct naming *naming; /* after naming_begin */
	struct objects *objects;
	struct processes *processes;
	struct containers *containers;
	struct account *account;
	struct why note;                   /* of fill_fit; "": none */
	bool last;                         /* sampling has ended: there is time to wait */
	VEC(uint64_t) accounts;            /* the payer, by id of labels: base/share.h */
	VEC(struct profile_sample) filled; /* stack and labels by index of the count */
	uint32_t frames[FILL_FRAMES_MAX];  /* the current stack */
};

/* Collects all counted frames and resolves their names. */
int fill_names(struct fill *fill);
/* Adds all counts: stacks, labels, number of samples; and the due ticks with their times. After an
 * error the profile has the part that was done. */
int fill_samples(struct fill *fill);
/* Limits the profile's text (profile/fit.h), and that of the store to stored_max. The
 * note says whose names are left out. */
int fill_fit(struct fill *fill, uint64_t stored_max);
void fill_done(struct fill *fill);
