/* SPDX-License-Identifier: Apache-2.0 */
/* worker/opening.h - the process that opens files of other processes. A file system may make a call
 * wait for ever (FUSE, NFS), so the process that samples makes none: an opener does, and can be
 * given up. It opens, checks by stat(2), copies and parses nothing (proc/opener.h; wire/opening.h).
 */
#pragma once

#include <linux/capability.h>

#include "base/caps.h"

/* Its capabilities, where its starter has them. */
#define OPENING_CAPS                                                \
	(CAPS_BIT(CAP_SYS_PTRACE) | CAPS_BIT(CAP_DAC_READ_SEARCH) | \
		CAPS_BIT(CAP_CHECKPOINT_RESTORE) | CAPS_TO_SEND)

/* For child_plan.run: serves until its owner closes its end of the socket. Returns an enum
 * worker_exit. */
int opening_run(void *ctx, int fd);
