/* SPDX-License-Identifier: Apache-2.0 */
/* base/signals.h - signals as something to be read in a loop: SIGINT, SIGTERM and SIGHUP, of which
 * none interrupts from then on. SIGPIPE is ignored: a write says it. */
#pragma once

#include "base/err.h"

/* *fd: a signalfd(2) that does not wait, the caller's. -errno with why. What is started later
 * inherits the blocked signals. */
int signals_open(int *fd, struct why *why);
