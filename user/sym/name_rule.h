/* SPDX-License-Identifier: Apache-2.0 */
/* sym/name_rule.h - chooses between two names of one place. */
#pragma once

#include <stdbool.h>

#include "base/cursor.h"

/* Is a the better one? Fewer leading underscores, shorter, alphabetic. */
bool name_rule_better(struct bytes a, struct bytes b, bool *equal);
