/* SPDX-License-Identifier: Apache-2.0 */
/* store/answer.h - what a query found, as a person or a sink wants it. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "profile/ranking.h"
#include "store/query.h"

/* What one sample of the answer stands for. */
uint64_t answer_period_ns(const struct query_answer *answer);

/* Appends the `most` hottest functions as a table. *dropped: samples that are not counted, in
 * stacks beyond RANKING_STACKS_MAX. 0 or -ENOMEM. */
int answer_put_top(
	const struct query_answer *answer, uint64_t most, struct buf *out, uint64_t *dropped);
/* Appends a line for each interval: CPUs that were busy with it, on average; local time. */
int answer_put_trend(const struct query_answer *answer, struct buf *out);

/* The label of a segment's `by` of that name, or NULL: there is no such label. */
const char *answer_label(const char *name, size_t len);
/* With the labels that the answer has. The duration is what was sampled: without the gaps. *out
 * must be fresh from profile_init. */
int answer_profile(const struct query_answer *answer, struct profile *out);
