/* SPDX-License-Identifier: Apache-2.0 */
/* sink/lost.h - the parts of a profile that a format has no place for, counted as it is written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct sink;
struct sink_options;

#define SINK_LOST_NAMES_MAX 128
#define SINK_LOST_TEXT_MAX 400

/* Of one output, whose profiles are added up. Zeroed: nothing. */
struct sink_lost {
	uint64_t kinds;                  /* sum of the values of kinds that are left out */
	char names[SINK_LOST_NAMES_MAX]; /* of these kinds */
	char unit[PROFILE_UNIT_MAX];     /* of the values in kinds */
	uint64_t labels, missed;         /* samples that lose free labels; others than idle */
	char keys[SINK_LOST_NAMES_MAX];  /* the first of these others */
	uint64_t events;
	bool by; /* the format has free labels that --by names */
};

/* Adds what the format leaves out of a profile. */
void sink_lost_add(struct sink_lost *lost, const struct sink *sink,
	const struct sink_options *options, const struct profile *profile);
/* The i-th sentence about it; NULL: there are no more. */
const char *sink_lost_text(const struct sink_lost *lost, const struct sink *sink, uint32_t i,
	char text[SINK_LOST_TEXT_MAX]);
