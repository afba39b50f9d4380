/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/top_view.h - the table of `stoker top`: what came from the recorder, what keys chose of
 * it, and how it is drawn. It has no privileges and needs none. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct top_view_options {
	int profiles;     /* folded profiles, an empty line behind each */
	int talk;         /* what the recorder says on its stderr */
	const char *what; /* is sampled, in words */
	uint32_t hz;
	uint32_t cpus;
	double interval_s;
};

/* Until a key or a signal ends it, or the recorder does because there is nothing more to record.
 * Where it failed: -EIO with why, in its own words. The terminal is as before. */
int top_view_run(const struct top_view_options *options, struct why *why);
