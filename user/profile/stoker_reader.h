/* SPDX-License-Identifier: Apache-2.0 */
/* profile/stoker_reader.h - reads a whole profile from its file (profile/stoker_format.h). The file
 * may come from anywhere: each number is checked, and memory and time have the limits of the
 * format. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/profile.h"

struct stoker_found {
	uint64_t at;      /* byte of the file at which the piece begins that cannot be read */
	const char *what; /* why; NULL: all was read */
};

/* Does it begin as one, of any version? */
bool stoker_looks_like(struct bytes file);

/* *out is fresh from profile_init. 0; -ENOEXEC: no such file; -ENOTSUP: of another version;
 * -EBADMSG: damaged or cut short; -EFBIG: beyond a limit; -ENOMEM. With -EBADMSG and -EFBIG *found
 * says where, and *out has all that comes before. */
int stoker_read(struct bytes file, struct profile *out, struct stoker_found *found);
