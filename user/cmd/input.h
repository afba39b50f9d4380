/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.h - loads a profile's file of any supported format. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "profile/profile.h"

/* path: "-" is stdin. The contents determine compression and format. event: the one to read of perf
 * text; NULL: its first. *out is fresh from profile_init. Samples of other events that are left
 * out, and lines that cannot be read, cause a warning. -EBADMSG with why: not a supported format,
 * or over 1 % of the lines cannot be read; -EINVAL with why: no such event; other -errno with why.
 */
int input_load(
	const char *path, const char *event, struct profile *out, struct log *log, struct why *why);
/* Does any sample have a command's name? Folded text has none: there the name is a frame like
 * others. */
bool input_has_comm(const struct profile *profile);
