/* SPDX-License-Identifier: Apache-2.0 */
/* profile/folded_reader.h - reads folded stacks of stoker or other tools into a profile. A line
 * is `frame;frame;frame COUNT`, root first. The suffixes _[k], _[j] and _[i] give a frame's
 * kind. Frames of --by are labels if the first line is `# stoker labels: KEYS 0`, and ordinary
 * frames otherwise. A line `# stoker kind: NAME UNIT PERIOD_NS 0` says what the counts after it
 * are, until the next one; a line of labels may follow it. Without it they are CPU samples. The
 * profile has counts of microseconds in nanoseconds. So
 * files of several kinds, one after the other, are one profile. Other tools read these lines as
 * stacks of no samples. / */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

#define FOLDED_FRAMES_MAX 4096      /* of one stack */
#define FOLDED_DIGITS_MAX 6         /* of a fraction */
#define FOLDED_SUM_MAX (1ULL << 53) /* what every format that we write can hold exactly */
#define FOLDED_TIME_NS 1000         /* of one microsecond; 2^53 of them are below 2^63 ns */
#define FOLDED_LABELS "# stoker labels: "
#define FOLDED_KIND "# stoker kind: "
#define FOLDED_KEYS_MAX (PROFILE_KEYS + PROFILE_FREE_MAX)
#define FOLDED_LABELS_MAX 1216 /* of their names, with the NUL */

struct folded_counts {
	uint64_t lines; /* accepted */
	uint64_t bad; /* skipped: no count, fewer frames than labels, over FOLDED_FRAMES_MAX frames
		       */
	uint64_t bad_at;   /* line number of the first, from 1 */
	uint64_t large_at; /* line number, with -ERANGE */
	uint64_t comments; /* of skipped: those that other readers take for stacks */
	uint64_t skipped;  /* blank, or comments: # and no stack with a count, or # and a blank */
	uint64_t pairs; /* of lines: stacks that end with a number, as in BEFORE AFTER of a diff */
	uint64_t pairs_at; /* line number of the first */
	uint64_t no_kind;  /* skipped: of kinds beyond PROFILE_KINDS_MAX */
	uint64_t rounded;  /* of lines: fractions of over FOLDED_DIGITS_MAX digits */
	char labels[FOLDED_LABELS_MAX]; /* container,comm: the KEYS; "": none */
};

struct folded_reader;
int folded_reader_new(struct profile *out, struct folded_reader **reader);
void folded_reader_free(struct folded_reader *reader);
/* Adds one stack, `frame;frame`, root first. labels: an id of out's; kind: in its table. 0;
 * -ENOMEM; -E2BIG: more than FOLDED_FRAMES_MAX frames. */
int folded_reader_add(
	struct folded_reader *reader, struct bytes stack, uint32_t labels, uint32_t kind,
	uint64_t count);

/* Adds to out, which is empty. Fractions are kept: they set the scale of out. 0; -ENOMEM; -ERANGE:
 * the sum of the counts, times the scale, exceeds FOLDED_SUM_MAX. */
int folded_read(struct bytes text, struct profile *out, struct folded_counts *counts);
