/* SPDX-License-Identifier: Apache-2.0 */
/* traps/still.h - finds the threads of a subject that have had no CPU for a time, and wait for an
 * answer rather than for work. Counters do not know that, but stacks do: so they are found in an
 * interval's profile. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/hash.h"
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
/* The permille of the threads with waits in an interval's profile that are in no idle one; still
 * has the threads without a CPU, and for how long. 0; -ENOENT: no thread has waits; -ENOMEM. */
int still_share(const struct profile *profile, uint64_t interval_ns, const struct hash *still,
	uint64_t *permille);
/* Intervals end so often at least. */
uint64_t still_interval_ns(uint64_t least_ns);
