/* SPDX-License-Identifier: Apache-2.0 */
/* profile/folded_reader.h - folded stacks, ours or of any other tool, as a profile. A line is
 * `frame;frame;frame COUNT`, root first. The suffixes _[k], _[j] and _[i] say what kind a frame is;
 * frames of --by are frames like others, as nothing says which they are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define FOLDED_FRAMES_MAX 4096 /* of one stack */

struct folded_counts {
	uint64_t lines;   /* taken */
	uint64_t bad;     /* left out: no count, or more frames than FOLDED_FRAMES_MAX */
	uint64_t bad_at;  /* the number of the first of them, from 1 */
	uint64_t skipped; /* blank, or comments that begin with # */
};

/* Adds to out, which is fresh or holds other samples. A count with a fraction is rounded. 0 or
 * -ENOMEM. */
int folded_read(struct bytes text, struct profile *out, struct folded_counts *counts);
