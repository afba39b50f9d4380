/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.h - loads a profile's file of any supported format. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "profile/profile.h"

/* path: "-" is stdin. The contents determine compression and format. *out is fresh from
 * profile_init. Skipped lines cause a warning. -EBADMSG with why: not a supported format; other
 * -errno with why. */
int input_load(const char *path, struct profile *out, struct log *log, struct why *why);
/* Does any sample have a command's name? Folded text has none: there the name is a frame like
 * others. */
bool input_has_comm(const struct profile *profile);
