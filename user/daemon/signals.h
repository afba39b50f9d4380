/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/signals.h - SIGINT, SIGTERM and SIGHUP as events to read in a loop; they no longer
 * interrupt. SIGPIPE is ignored: the write fails instead. */
#pragma once

#include "base/err.h"

/* *fd: a non-blocking signalfd(2), the caller's. -errno with why. Processes started later inherit
 * the blocked signals. */
int signals_open(int *fd, struct why *why);
/* Reads one signal; 0: none. Who signals all processes of a recording sends it to the one that
 * samples twice, for the first process passes it on (daemon/session.h): the second is dropped. */
int signals_take(int fd);
