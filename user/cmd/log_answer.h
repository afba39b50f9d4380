/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/log_answer.h - queries a store and logs the gaps in its answer. */
#pragma once

#include "base/log.h"
#include "store/ask.h"
#include "store/query.h"

/* answer: zeroed; call query_answer_done in any case. -ENODATA with why: the store has no profile
 * of that time. */
int log_answer(
	struct log *log, const struct ask *ask, struct query_answer *answer, struct why *why);
