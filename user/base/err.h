/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.h - the reason for an error, in words for a person.
 * Functions return 0 or -errno. If the number is not enough, the last parameter is a `struct why *`
 * (never NULL) with the thing, the cause and the remedy. */
#pragma once

#include <stdbool.h>

#define WHY_MAX 512

struct why {
	char text[WHY_MAX];
};

/* Writes the reason and returns err, so that a failure is one line:
 *     return why_set(why, -ENOENT, "no such process: %d", pid); */
int why_set(struct why *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Text for -errno or errno; never NULL. */
const char *err_text(int err);

/* Is this -errno of a file system that takes nothing now (full, over a quota or read-only) and may
 * do so later? */
bool err_unwritable(int err);
