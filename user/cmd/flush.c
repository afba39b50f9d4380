/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/flush.c - stdio keeps what it could not write: to flush it fails again, and says why. */
#include "cmd/flush.h"

#include <errno.h>
#include <stdio.h>

#include "output/place.h"

int flush_stdout(struct why *why)
{
	int err = fflush(stdout) != 0 ? -errno : ferror(stdout) ? -EIO : 0;

	return err < 0 ? why_set(why, err, "cannot write to stdout: %s", place_error(err)) : 0;
}
