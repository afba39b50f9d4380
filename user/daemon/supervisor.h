/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor.h - the main process of `stoker daemon`: it starts the one that samples, starts
 * it again when it was lost, and decides whether there may be one (guard/kill_switch.h,
 * guard/guard.h). It keeps the rights that the other gives up, and hears nobody but signals, that
 * process and the folders of the kill switch. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"

struct supervisor_options {
	const char *config_path; /* NULL: the default file if it exists, else the defaults */
	bool after_crash;        /* sample although the host went down */
	struct log *log;
};

/* Until SIGTERM or SIGINT, or until the daemon fails: its exit status. */
int supervisor_run(const struct supervisor_options *options);
