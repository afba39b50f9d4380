/* SPDX-License-Identifier: Apache-2.0 */
/* profile/slice.h - a part of a profile's time as a profile. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

/* The ticks from since_ns to before until_ns, both counted from the profile's start, or from its
 * first tick where that is not known, and the samples that they add up to, into *out, fresh from
 * profile_init. 0 or -ENOMEM. */
int profile_slice(
	const struct profile *profile, uint64_t since_ns, uint64_t until_ns, struct profile *out);
