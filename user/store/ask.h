/* SPDX-License-Identifier: Apache-2.0 */
/* store/ask.h - a question of a store, in words:
 *     SINCE..UNTIL · store=DIR · container=NAME (or pod, namespace, image, unit, comm, pid, tid,
 *     cpu) · function=REGEX
 * separated by commas; what stands behind function= is all of it. Times are base/when.h's; an empty
 * SINCE is the beginning, an empty UNTIL now. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/query.h"

#define STORE_PATH "/var/lib/stoker"

/* Stays where it is: the query refers to it. */
struct ask {
	const char *store;
	struct query query;
	regex_t function;
	bool has_function;
	char *words; /* of ask_parse */
	uint64_t now_ns;
};

void ask_init(struct ask *ask, uint64_t now_ns);
void ask_done(struct ask *ask);

/* One of store, since, until, function, and what a segment may be labelled by. A second value of a
 * key takes the place of the first. value is borrowed. -EINVAL with why. */
int ask_set(struct ask *ask, const char *key, const char *value, struct why *why);
/* Could this text be meant as a question, and not as the name of a file? */
bool ask_looks_like(const char *text);
/* Sets what the text says. -EINVAL with why. */
int ask_parse(struct ask *ask, const char *text, struct why *why);
/* -EINVAL with why: since is not before until. */
int ask_check(const struct ask *ask, struct why *why);
/* Is this label asked for? */
bool ask_matches(const struct ask *ask, const char *key);
