/* SPDX-License-Identifier: Apache-2.0 */
/* store/query.h - what a span of time, a container, a process or a function took.
 * A segment counts when it lies in the span with its middle: segments are not cut, so that spans
 * side by side have each sample once. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/merge.h"
#include "store/store.h"

#define QUERY_MATCHES_MAX 8

struct query {
	uint64_t since_ns, until_ns; /* CLOCK_REALTIME; until is not in it */
	struct query_match {
		const char *key; /* one of a segment's `by` */
		const char *value;
	} matches[QUERY_MATCHES_MAX];
	size_t matches_len;
	const regex_t *function; /* a frame of the stack; NULL: any */
};

/* A segment's part of the answer. */
struct query_point {
	uint64_t start_ns, end_ns;
	uint64_t ns; /* what its samples stand for */
};

struct query_answer {
	struct merge merge;
	VEC(struct query_point) points; /* by start */
	struct buf by;     /* of the newest segment; stacks of segments that differ are left out */
	uint32_t hz;       /* the highest of them */
	uint32_t segments; /* that were read */
	uint32_t other_by; /* left out: labelled otherwise, or not by what is asked for */
	uint32_t damaged;  /* left out */
	uint32_t gone;     /* were removed meanwhile */
};

int query_answer_init(struct query_answer *answer);
void query_answer_done(struct query_answer *answer);

/* 0, -ENOENT: no segment of the span has such labels; -ENOMEM. Where segments went while they were
 * read, as an hour was made of them, the store is refreshed and asked again. */
int query_run(struct store *store, const struct query *query, struct query_answer *answer,
	struct why *why);
