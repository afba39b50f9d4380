/* SPDX-License-Identifier: Apache-2.0 */
/* worker/pace.h - the time for which workers run before others. A program that has just begun waits
 * for its tables, so the first seconds of a load are worth it; but whoever makes workers work for
 * ever, by files of its own, must not slow down the rest of the host for ever. So there is a store
 * of CPU time, which is filled slowly. It asks nobody and wakes nobody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define PACE_NS (5 * NSEC_PER_SEC) /* CPU time of workers that is stored at most */
#define PACE_PART 50               /* a part of the time that passes is added */

struct pace {
	int64_t left_ns;
	uint64_t now_ns, used_ns; /* at the last call */
	bool normal;              /* workers run as others do */
};

void pace_init(struct pace *pace, uint64_t now_ns);
/* used_ns: the CPU time of all workers so far. True: pace->normal has changed. It changes back only
 * when half of the store is full again. */
bool pace_feed(struct pace *pace, uint64_t now_ns, uint64_t used_ns);
