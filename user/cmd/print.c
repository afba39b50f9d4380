/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/print.c - stdio keeps what it could not write: to flush it fails again, and says why. */
#include "cmd/print.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/utf8.h"
#include "output/place.h"

void print_clean(const char *text, int width)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	if (utf8_put_clean(&clean, text) == 0)
		printf("%-*s", width, buf_text(&clean));
}

int print_flush(struct why *why)
{
	int err = fflush(stdout) != 0 ? -errno : ferror(stdout) ? -EIO : 0;

	return err < 0 ? why_set(why, err, "cannot write to stdout: %s", place_error(err)) : 0;
}
