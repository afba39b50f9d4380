/* SPDX-License-Identifier: Apache-2.0 */
/* profile/slice.h - a part of a profile as a profile: of its time, of one container. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

/* The ticks from since_ns to before until_ns, both counted from the profile's start, or from its
 * first tick where that is not known, and the samples that they add up to, into *out, fresh from
 * profile_init. 0 or -ENOMEM. */
int profile_slice(
	const struct profile *profile, uint64_t since_ns, uint64_t until_ns, struct profile *out);

struct slice {
	uint64_t since_ns, until_ns;              /* by the clock of ticks; until is not in it */
	const char *container, *pod, *namespace_; /* as in its labels; NULL: any */
	/* Of the ticks that are added: one of the profile's becomes as many as its period has of
	 * them, evenly over the period before it, so that profiles of different rates can be added
	 * up. 0: each becomes one. */
	uint64_t period_ns;
	uint64_t ticks_max; /* in out: those beyond are left out; 0: no limit but the profile's */
	/* Kept from one call to the next: */
	uint64_t rest_ns;         /* what a whole tick could not be made of yet */
	uint64_t taken, left_out; /* the profile's ticks that were met, and those over ticks_max */
};

/* Adds the ticks, and the samples that they add up to, to *out. 0 or -ENOMEM. */
int profile_add_slice(const struct profile *profile, struct slice *slice, struct profile *out);
