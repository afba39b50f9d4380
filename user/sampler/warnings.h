/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/warnings.h - warnings for the user about limits of a capture. The same one is
 * not said twice within an hour, and who causes many has the places of one interval alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WARNINGS_MAX 32         /* are remembered, the latest */
#define WARNINGS_AGAIN_NS 3600000000000ULL
#define WARNINGS_AN_INTERVAL 16 /* further ones are counted, and the number is a warning, too */

struct warnings {
	struct why all[WARNINGS_MAX]; /* number i at i % WARNINGS_MAX */
	uint64_t said_ns[WARNINGS_MAX]; /* CLOCK_MONOTONIC */
	size_t len;                   /* of all, ever */
	size_t fresh;                 /* of this interval */
	uint64_t left_out;
};

/* "" is none. */
void warnings_add(struct warnings *warnings, const char *text);
/* The end of an interval. */
void warnings_next(struct warnings *warnings);
/* The i-th ever; ask for each before the next interval ends. NULL: no more. */
const char *warnings_find(const struct warnings *warnings, size_t i);
