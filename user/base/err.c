/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.c - error text. A reason longer than WHY_MAX is cut, never an error of its own. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int why_set(struct why *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

/* strerror(3) says "cannot splice", which misleads here. */
const char *err_text(int err)
{
	if (err == ETOOMANYREFS || err == -ETOOMANYREFS)
		return "processes of our user have too many descriptors in flight on unix sockets";
	return strerror(err < 0 ? -err : err);
}

bool err_unwritable(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS;
}
