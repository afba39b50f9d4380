/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.h - `stoker daemon`: samples until SIGTERM and writes each interval's profile into
 * the store. Its configuration is read at the start, and again at SIGHUP. */
#pragma once

#include "base/err.h"
#include "base/log.h"

struct daemon;

/* Reads and checks the configuration and opens the HTTP listener; nothing runs yet. config_path
 * NULL: the default file if it exists, else the defaults. *out is the caller's. */
int daemon_open(const char *config_path, struct log *log, struct daemon **out, struct why *why);
/* Runs until a signal ends it or it fails. */
int daemon_run(struct daemon *daemon, struct why *why);
void daemon_free(struct daemon *daemon);
