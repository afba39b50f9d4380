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
	uint64_t bad;     /* left out: no count, more frames than FOLDED_FRAMES_MAX, or with
			   * those before a sum above 2^53, which no viewer could tell exactly */
	uint64_t bad_at;  /* the number of the first of them, from 1 */
	uint64_t skipped; /* blank, or comments that begin with # */
};

/* Adds one stack, `frame;frame`, root first. labels: an id of out's. 0, -ENOMEM, or -E2BIG: more
 * frames than FOLDED_FRAMES_MAX. */
struct folded_reader;
int folded_reader_new(struct profile *out, struct folded_reader **reader);
void folded_reader_free(struct folded_reader *reader);
int folded_reader_add(
	struct folded_reader *reader, struct bytes stack, uint32_t labels, uint64_t count);

/* Adds to out, which is fresh or holds other samples. A count with a fraction is rounded. 0 or
 * -ENOMEM. */
int folded_read(struct bytes text, struct profile *out, struct folded_counts *counts);
