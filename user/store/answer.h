/* SPDX-License-Identifier: Apache-2.0 */
/* store/answer.h - the answer of a query as a table for a person, or as a profile for a sink. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/ranking.h"
#include "store/query.h"

/* The time that a sample of the answer stands for. */
uint64_t answer_period_ns(const struct query_answer *answer);

/* Appends the `most` hottest functions as a table. *dropped: samples that are left out, in stacks
 * beyond RANKING_STACKS_MAX. 0 or -ENOMEM. */
int answer_put_top(
	const struct query_answer *answer, uint64_t most, struct buf *out, uint64_t *dropped);
/* Appends a line for each interval: the average number of busy CPUs, in local time. */
int answer_put_trend(const struct query_answer *answer, struct buf *out);

/* The label of that name, as segments have it in `by`; NULL: no such label. */
const char *answer_label(const char *name, size_t len);
/* Makes a profile with the answer's labels. Its duration is the sampled time, without gaps. *out
 * must come fresh from profile_init. */
int answer_profile(const struct query_answer *answer, struct profile *out);
