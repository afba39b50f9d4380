/* SPDX-License-Identifier: Apache-2.0 */
/* worker/proc_maps.h - reads a copy of /proc/PID/maps: a process chooses its paths. */
#pragma once

#include <stdbool.h>

#include "wire/proto_body.h"
#include "wire/status.h"

/* Fills out; with list, *list_fd is the caller's: a sealed memfd, or unchanged where nothing is to
 * be listed. WORKER_OK; WORKER_TOO_LARGE, WORKER_UNREADABLE, WORKER_MEMORY: nothing was set. */
enum worker_status proc_maps_read(int fd, bool list, struct proto_mappings *out, int *list_fd);
