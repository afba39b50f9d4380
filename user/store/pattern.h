/* SPDX-License-Identifier: Apache-2.0 */
/* store/pattern.h - a regular expression of a stranger, as pcre2pattern(3), over functions' names.
 * An expression has limits of memory, of the steps and the depth of a match, and of the CPU time of
 * all its matches together, so it cannot hold up or starve whoever runs it. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"

#define PATTERN_BYTES_MAX 1024               /* of the text */
#define PATTERN_COMPILED_BYTES_MAX (2 << 20) /* while it is compiled, and afterwards */
#define PATTERN_MATCH_BYTES_MAX (1 << 20)    /* of a match */
#define PATTERN_STEPS_MAX 100000             /* of a match */
#define PATTERN_CPU_MS_MAX 200               /* of all matches */

struct pattern;

/* *out is the caller's; threads may share it. -EINVAL with why: it is no expression, or too large;
 * -ENOMEM. */
int pattern_new(const char *text, struct pattern **out, struct why *why);
void pattern_free(struct pattern *pattern);
static inline void pattern_freep(struct pattern **pattern)
{
	pattern_free(*pattern);
}

/* One thread's matches: each distinct name is matched once. */
struct pattern_search {
	struct pattern *pattern;
	struct pattern_room *room;
	struct strtab names;
	VEC(int) results; /* by a name's number */
};

int pattern_search_init(struct pattern_search *search, struct pattern *pattern);
/* Also for one that is all 0. */
void pattern_search_done(struct pattern_search *search);
/* 1: some part of the name matches; 0: none; -ETIMEDOUT: a limit was reached, so the expression has
 * no answer; -ENOMEM. */
int pattern_search_find(struct pattern_search *search, const char *name, size_t len);
