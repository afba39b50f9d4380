/* SPDX-License-Identifier: Apache-2.0 */
/* sink/diff.h - two profiles beside each other, and how their counts are made comparable. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/sink.h"

enum diff_scale {
	DIFF_TOTAL, /* before as if it had as many samples as after */
	DIFF_TIME,  /* before as if it had been sampled as long as after, at the same rate */
	DIFF_NONE,  /* counts as they are */
	DIFF_SCALES,
};

/* "total", "time" or "none"; DIFF_SCALES: none of these. */
enum diff_scale diff_find_scale(const char *name);
const char *diff_scale_name(enum diff_scale scale);
/* What to multiply a count of before with. 1 where one of them is not known or nothing. */
double diff_factor(
	const struct profile *before, const struct profile *after, enum diff_scale scale);

/* `frame;frame BEFORE AFTER`, as difffolded.pl makes it and flamegraph.pl reads it. 0 or -ENOMEM.
 */
int diff_write_folded(const struct profile *before, const struct profile *after,
	const struct sink_options *options, enum diff_scale scale, struct buf *out);
