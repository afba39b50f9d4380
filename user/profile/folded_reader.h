/* SPDX-License-Identifier: Apache-2.0 */
/* profile/folded_reader.h - reads folded stacks of stoker or other tools into a profile. A line is
 * `frame;frame;frame COUNT`, root first. The suffixes _[k], _[j] and _[i] give a frame's kind.
 * Frames of --by cannot be recognised and stay ordinary frames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define FOLDED_FRAMES_MAX 4096 /* of one stack */

struct folded_counts {
	uint64_t lines; /* accepted */
	/* Skipped: no count, over FOLDED_FRAMES_MAX frames, or the sum of all counts would exceed
	 * 2^53, the limit of exact numbers in viewers. */
	uint64_t bad;
	uint64_t bad_at;  /* line number of the first, from 1 */
	uint64_t skipped; /* blank, or comments that begin with # */
};

/* Adds one stack, `frame;frame`, root first. labels: an id of out's. 0; -ENOMEM; -E2BIG: more than
 * FOLDED_FRAMES_MAX frames. */
struct folded_reader;
int folded_reader_new(struct profile *out, struct folded_reader **reader);
void folded_reader_free(struct folded_reader *reader);
int folded_reader_add(
	struct folded_reader *reader, struct bytes stack, uint32_t labels, uint64_t count);

/* Adds to out, which is empty or has other samples. Fractional counts are rounded. 0 or -ENOMEM. */
int folded_read(struct bytes text, struct profile *out, struct folded_counts *counts);
