/* SPDX-License-Identifier: Apache-2.0 */
/* profile/text_size.h - measures a profile as text, before it is written. A file of a few bytes may
 * refer to the same long names and stacks as often as it likes, so its own size says little. */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

/* Of all stacks with their labels, each that reads the same once, as folded text has them. It is
 * counted up to the first that exceeds max. 0 or -ENOMEM. */
int text_size_lines(const struct profile *profile, uint64_t max, uint64_t *bytes);
/* The same of the ticks of kind 0, each with its whole stack and modules, as perf text has them. */
int text_size_ticks(const struct profile *profile, uint64_t max, uint64_t *bytes);
