/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/top_view.h - the table of `stoker top`: reads the recorder's output, handles keys,
 * draws. It neither has nor needs privileges. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct top_view_options {
	int profiles;     /* folded profiles, each followed by an empty line */
	int talk;         /* the recorder's stderr */
	const char *what; /* the target in words */
	uint32_t hz;      /* 0: values are nanoseconds that threads waited */
	uint32_t cpus;
	double interval_s;
};

/* Runs until a key or a signal ends it, or the recorder ends. If the recorder failed: -EIO with
 * why, in the recorder's words. The terminal is restored. */
int top_view_run(const struct top_view_options *options, struct why *why);
