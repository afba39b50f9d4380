/* SPDX-License-Identifier: Apache-2.0 */
/* traps/still.h - finds the threads of a subject that have had no CPU for a time, and wait for an
 * answer rather than for work. Counters do not know that, but stacks do: so they are found in an
 * interval's profile. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "traps/thread_times.h"
#include "traps/watch.h"

struct walls;

struct still {
	const struct profile *profile; /* of an interval, with threads */
	const struct walls *walls;     /* NULL: nothing is known */
	uint64_t least_ns;
	struct thread_whose whose;
	uint64_t permille; /* of its threads that wait; rounded up */
};

/* Sets permille. 0; -ENOENT: nothing is known of its threads; -ENOMEM. */
int still_find(struct still *still, const struct watch_sources *from);
/* Intervals end so often at least. */
uint64_t still_interval_ns(uint64_t least_ns);
