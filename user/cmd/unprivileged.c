/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/unprivileged.c - drops privileges for good. */
#include "cmd/unprivileged.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/caps.h"

int unprivileged_begin(struct why *why)
{
	signal(SIGPIPE, SIG_IGN);
	return geteuid() != 0 && caps_limit(0) < 0 ? why_set(why, -EPERM, "cannot drop privileges")
						   : 0;
}
