/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tell_answer.h - what an answer of the store left out, for a person. */
#pragma once

#include "base/log.h"
#include "store/query.h"

void tell_answer(struct log *log, const struct query_answer *answer);
