/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/warnings.h - warnings for the user about limits of a capture, each once. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define WARNINGS_MAX 32 /* further ones are dropped */

struct warnings {
	struct why all[WARNINGS_MAX];
	size_t len;
};

/* "" is none. */
void warnings_add(struct warnings *warnings, const char *text);
/* NULL: no more. */
const char *warnings_find(const struct warnings *warnings, size_t i);
