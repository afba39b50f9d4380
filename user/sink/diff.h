/* SPDX-License-Identifier: Apache-2.0 */
/* sink/diff.h - two profiles side by side, with counts that can be compared. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/sink.h"

enum diff_scale {
	DIFF_TOTAL, /* scale before to as many samples as after */
	DIFF_TIME,  /* scale before to the sampling time and rate of after */
	DIFF_NONE,  /* leave counts as they are */
	DIFF_SCALES,
};

/* "total", "time" or "none"; DIFF_SCALES: none of these. */
enum diff_scale diff_find_scale(const char *name);
const char *diff_scale_name(enum diff_scale scale);
/* The factor for counts of before. 1: the size of one of them is unknown or 0. */
double diff_factor(
	const struct profile *before, const struct profile *after, enum diff_scale scale);

/* Lines `frame;frame BEFORE AFTER`, as difffolded.pl writes and flamegraph.pl reads them. Values
 * that are no samples are as in other folded text: times in microseconds, after a line that names
 * the kind. Both profiles have the same unit. Returns buf_err(out). */
int diff_write_folded(const struct profile *before, const struct profile *after,
	const struct sink_options *options, enum diff_scale scale, struct buf *out);
