/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tell_answer.h - a question to a store, and what its answer left out, for a person. */
#pragma once

#include "base/log.h"
#include "store/ask.h"
#include "store/query.h"

/* answer: of zeros; query_answer_done releases it in any case. */
int tell_answer(
	struct log *log, const struct ask *ask, struct query_answer *answer, struct why *why);
