/* SPDX-License-Identifier: Apache-2.0 */
/* agent/warnings.h - what a capture cannot do and the user should know, each once. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define WARNINGS_MAX 8 /* what comes then is not kept */

struct warnings {
	struct why all[WARNINGS_MAX];
	size_t len;
};

void warnings_add(struct warnings *warnings, const char *text);
/* NULL: there are no more. */
const char *warnings_find(const struct warnings *warnings, size_t i);
