/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_reader.h - reads the output of `perf script`, stoker's or perf's own, into a profile
 * with times:
 *     COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT:
 *     <blank>ADDRESS SYMBOL+0xOFFSET (MODULE)       leaf first
 *     <empty line>
 * PID or /TID, [CPU] and PERIOD may be missing; a sample without stack has its only frame after
 * EVENT:. Each event is one sample, whatever its period; the profile has a period if the event is a
 * clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define PERF_FRAMES_MAX 4096 /* of one stack */

struct perf_counts {
	uint64_t samples;
	uint64_t bad;    /* skipped lines: neither the head of a sample nor a frame */
	uint64_t bad_at; /* line number of the first, from 1 */
};

/* Does the text begin like output of perf script? */
bool perf_looks_like(struct bytes text);
/* Adds to out, which is empty or has other samples. 0 or -ENOMEM. */
int perf_read(struct bytes text, struct profile *out, struct perf_counts *counts);
