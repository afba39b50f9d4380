/* SPDX-License-Identifier: Apache-2.0 */
/* profile/span.h - a part of a sample's value in nanoseconds, and when it came about: without a
 * pause, so of a part of that time it is as large a part. No file has them. */
#pragma once

#include <stdint.h>

struct profile;

struct profile_span {
	uint64_t since_ns, until_ns; /* on the clock of ticks */
	uint32_t sample;             /* in profile.samples */
};

/* Adds the time to the sample's value, and as a span. 0 or -ENOMEM. */
int profile_span(struct profile *profile, uint32_t stack, uint32_t labels, uint32_t kind,
	uint64_t since_ns, uint64_t until_ns);
