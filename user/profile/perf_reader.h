/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_reader.h - what `perf script` prints, ours or perf's own, as a profile with times:
 *     COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT:
 *     <blank>ADDRESS SYMBOL+0xOFFSET (MODULE)       leaf first
 *     <empty line>
 * PID or /TID, [CPU] and PERIOD may be missing; of samples without stacks the one frame stands
 * behind EVENT:. Each event is one sample, whatever its period; the
 * profile has a period where the event is a clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define PERF_FRAMES_MAX 4096 /* of one stack */

struct perf_counts {
	uint64_t samples;
	uint64_t bad;    /* lines left out: neither the head of a sample nor a frame */
	uint64_t bad_at; /* the number of the first of them, from 1 */
};

/* Does it begin like perf text? */
bool perf_looks_like(struct bytes text);
/* Adds to out, which is fresh or holds other samples. 0 or -ENOMEM. */
int perf_read(struct bytes text, struct profile *out, struct perf_counts *counts);
