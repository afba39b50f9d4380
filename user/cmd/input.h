/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.h - a file that holds a profile, whatever wrote it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "profile/profile.h"

/* path: "-" is stdin. Compressed or not; what format it is, its contents say. *out is fresh from
 * profile_init. Lines that are left out are warned of. -EBADMSG with why: no format that is read;
 * other -errno with why. */
int input_load(const char *path, struct profile *out, struct log *log, struct why *why);
/* Does it say of any sample which program it is of? Folded text does not: what it has of that are
 * frames. */
bool input_has_comm(const struct profile *profile);
