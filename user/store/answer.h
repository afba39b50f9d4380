/* SPDX-License-Identifier: Apache-2.0 */
/* store/answer.h - the answer of a query as a table for a person, or as a profile for a sink. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/ranking.h"
#include "store/query.h"

/* The time that a sample of the answer stands for; 1 where its values are no samples, or of unknown
 * time. */
uint64_t answer_period_ns(const struct query_answer *answer);
/* The name of its kind of value. */
const char *answer_kind(const struct query_answer *answer);
/* The unit of its values. */
const char *answer_unit(const struct query_answer *answer);
bool answer_waits(const struct query_answer *answer); /* is it of PROFILE_WALL? */
/* Is the sum of the answer a time, in nanoseconds? */
bool answer_is_time(const struct query_answer *answer);

/* Appends the `most` hottest functions as a table. *dropped: samples that are left out, in stacks
 * beyond RANKING_STACKS_MAX. 0 or -ENOMEM. */
int answer_put_top(
	const struct query_answer *answer, uint64_t most, struct buf *out, uint64_t *dropped);
/* Appends a line for each interval, in local time: the average number of busy CPUs; of other kinds
 * that are times how many threads that is, else values by the second. */
int answer_put_trend(const struct query_answer *answer, struct buf *out);

/* The label of that name, as segments have it in `by`; NULL: no such label. */
const char *answer_label(const char *name, size_t len);
/* Makes a profile with the answer's labels, of its kind alone. Its duration is the sampled time,
 * without gaps. *out must come fresh from profile_init. */
int answer_profile(const struct query_answer *answer, struct profile *out);
/* Adds the answer's samples to a profile, which gets their kind. 0; -ENOSPC: there are
 * PROFILE_KINDS_MAX others; -ENOMEM. */
int answer_add(const struct query_answer *answer, struct profile *out);
