/* SPDX-License-Identifier: Apache-2.0 */
/* store/ask.h - a question of a store, in words:
 *     SINCE..UNTIL · store=DIR · container=NAME (or pod, namespace, image, unit, comm, pid, tid,
 *     cpu) · kind=NAME, of value · function=REGEX
 * separated by commas; function= takes the rest of the text. Times are those of store/when.h; an
 * empty SINCE is the beginning, an empty UNTIL is now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/query.h"

#define STORE_PATH "/var/lib/stoker"

/* Must not be moved: the query points into it. */
struct ask {
	const char *store;
	struct query query;
	char *words; /* of ask_parse */
	uint64_t now_ns;
};

void ask_init(struct ask *ask, uint64_t now_ns);
void ask_done(struct ask *ask);

/* key: store, since, until, function, kind, or a label of segments. A second value of a key
 * replaces the first. value is borrowed. -EINVAL with why. */
int ask_set(struct ask *ask, const char *key, const char *value, struct why *why);
/* Is this text more likely a question than the name of a file? */
bool ask_looks_like(const char *text);
/* Sets all keys of a text. -EINVAL with why. */
int ask_parse(struct ask *ask, const char *text, struct why *why);
/* -EINVAL with why: since is not before until. */
int ask_check(const struct ask *ask, struct why *why);
/* Does the question have a value for this label? */
bool ask_matches(const struct ask *ask, const char *key);
