/* SPDX-License-Identifier: Apache-2.0 */
/* profile/kinds.h - the meaning of the values of samples: a small table of kinds, such as CPU
 * samples, waiting time, bytes. Kind 0 is always there; in a fresh profile it is samples of CPU
 * time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define PROFILE_KINDS_MAX 8
#define PROFILE_NO_KIND UINT32_MAX
#define PROFILE_UNIT_MAX 48 /* of a unit's text, with the NUL */
#define PROFILE_AMOUNT_MAX 80 /* of a value's text with its unit, with the NUL */

struct profile_kind {
	uint32_t name;      /* strings: cpu, wall, perf's name of an event; "": cpu */
	uint32_t unit;      /* strings, of a value: nanoseconds, bytes, count; "": samples */
	uint32_t scale;     /* values are counts times this, a power of ten, for fractions */
	uint64_t period_ns; /* time that one sample stands for; 0: unknown, or values are no time */
};

#define PROFILE_CPU "cpu"
#define PROFILE_WALL "wall"
#define PROFILE_SAMPLES "samples"
#define PROFILE_NANOSECONDS "nanoseconds"
#define PROFILE_MICROSECONDS "microseconds" /* of folded text only; a profile has nanoseconds */

/* Never empty. */
const char *profile_kind_name(const struct profile *profile, uint32_t kind);
const char *profile_kind_unit(const struct profile *profile, uint32_t kind);
/* The unit of the values as they are: samples/100 where the scale is 100. */
const char *profile_kind_unit_scaled(
	const struct profile *profile, uint32_t kind, char text[PROFILE_UNIT_MAX]);
/* PROFILE_NO_KIND: no kind has that name. */
uint32_t profile_kind_find(const struct profile *profile, const char *name, size_t len);
/* Finds a kind or makes it, of samples without a period. 0; -ENOSPC: there are PROFILE_KINDS_MAX
 * others; -ENOMEM. */
int profile_kind(struct profile *profile, const char *name, size_t len, uint32_t *kind);
/* scale: 1 to 1000000, a multiple of the kind's present one. Values are multiplied as needed. */
void profile_set_scale(struct profile *profile, uint32_t kind, uint32_t scale);
/* Keeps these kinds, in this order, with their samples and ticks. len > 0, no kind twice. 0 or
 * -ENOMEM; then the profile may be changed in part. */
int profile_select_kinds(struct profile *profile, const uint32_t *kinds, uint32_t len);

/* profile_select_kinds with names separated by commas; a name may have commas itself. -ENOENT:
 * there is no such kind, or one is named twice. */
int profile_choose_kinds(struct profile *profile, const char *names);

/* As formats name values by a type and a unit: samples of a known period are time. */
bool profile_kind_is_time(const struct profile *profile, uint32_t kind);
/* nanoseconds, or count for samples without a period, or the kind's unit. */
const char *profile_kind_amount_unit(const struct profile *profile, uint32_t kind);
/* The value in that unit; at most INT64_MAX. */
uint64_t profile_kind_amount(const struct profile *profile, uint32_t kind, uint64_t value);
/* As a person reads it: 1.250 s of nanoseconds, else the number and the unit. */
const char *profile_amount_text(
	const char *unit, uint64_t value, char text[PROFILE_AMOUNT_MAX]);
/* The sum of a kind's values. */
uint64_t profile_kind_total(const struct profile *profile, uint32_t kind);
