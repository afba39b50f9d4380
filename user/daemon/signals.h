/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/signals.h - SIGINT, SIGTERM and SIGHUP as events to read in a loop; they no longer
 * interrupt. SIGPIPE is ignored: the write fails instead. */
#pragma once

#include "base/err.h"

/* *fd: a non-blocking signalfd(2), the caller's. -errno with why. Processes started later inherit
 * the blocked signals. */
int signals_open(int *fd, struct why *why);
