/* SPDX-License-Identifier: Apache-2.0 */
/* store/query.h - the samples of a span of time, of a container, a process or a function.
 * A segment counts if its middle is in the span. Segments are not cut, so adjacent spans have each
 * sample once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/merge.h"
#include "store/pattern.h"
#include "store/store.h"

#define QUERY_MATCHES_MAX 8

struct query {
	uint64_t since_ns, until_ns; /* CLOCK_REALTIME; until is outside the span */
	struct query_match {
		const char *key; /* a label of a segment's `by` */
		const char *value;
	} matches[QUERY_MATCHES_MAX];
	size_t matches_len;
	struct pattern *function; /* a frame of the stack; NULL: any */
	const char *kind;         /* of value, by its name; NULL or PROFILE_CPU: CPU samples */
};

/* A segment's part of the answer. */
struct query_point {
	uint64_t start_ns, end_ns;
	uint64_t ns; /* the time that its samples stand for, or the sum of its values */
};

struct query_answer {
	struct merge merge;
	VEC(struct query_point) points; /* by start */
	struct buf by;     /* of the newest segment; segments with other labels are left out */
	uint32_t hz;       /* the highest of them, of CPU samples */
	struct buf kind, unit; /* of value, as of segment_kind; kind "": CPU samples */
	uint64_t period_ns;    /* of samples of such a kind: the shortest; 0: unknown */
	uint32_t segments; /* read */
	uint32_t other_by; /* left out: other labels, or not those of the question */
	uint32_t other_kind; /* left out: without the kind, or with another unit of it */
	uint32_t damaged;  /* left out */
	uint32_t gone;     /* removed during the query */
};

int query_answer_init(struct query_answer *answer);
void query_answer_done(struct query_answer *answer);

/* 0; -ENOENT: no segment of the span has such labels, or such a kind; -ETIMEDOUT: the expression
 * takes too long; -ENOMEM. If segments were removed while they were read, because an hour replaced
 * them, the store is refreshed and the query repeated. */
int query_run(struct store *store, const struct query *query, struct query_answer *answer,
	struct why *why);
