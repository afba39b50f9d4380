/* SPDX-License-Identifier: Apache-2.0 */
/* profile/slice.h - copies a part of a profile into another: a range of time, one container. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* Copies the ticks from since_ns to before until_ns, with their samples, into *out, fresh from
 * profile_init. Times count from the profile's start, or from its first tick if that is unknown. 0
 * or -ENOMEM. */
int profile_slice(
	const struct profile *profile, uint64_t since_ns, uint64_t until_ns, struct profile *out);

struct slice {
	uint64_t since_ns, until_ns;              /* on the clock of ticks; until is exclusive */
	const char *container, *pod, *namespace_; /* values of labels; NULL: any */
	/* Period of the added ticks of kind 0. One tick of the profile becomes several that fill
	 * its own period, spread evenly over the time before it, so that profiles of different
	 * rates can be added up. 0: each becomes one. */
	uint64_t period_ns;
	uint64_t ticks_max; /* limit of ticks in out; 0: the profile's own */
	bool other_kinds;   /* samples of others, too: spans in the range, and all that has none */
	bool no_ticks;      /* of the range, samples of other kinds alone */
	/* State between calls: */
	uint64_t rest_ns;         /* remaining time that is less than a tick */
	uint64_t taken, left_out; /* ticks in range, and those over ticks_max */
};

/* Adds the selected ticks and their samples, and the events, to *out. 0 or -ENOMEM. */
int profile_add_slice(const struct profile *profile, struct slice *slice, struct profile *out);
