/* SPDX-License-Identifier: Apache-2.0 */
/* worker/proc_maps.h - reads a copy of /proc/PID/maps: a process chooses its paths. */
#pragma once

#include "wire/proto_body.h"
#include "wire/status.h"

/* Fills out, and writes the list into the memory, which is empty; memory -1: no list is wanted.
 * WORKER_OK; WORKER_TOO_LARGE, WORKER_UNREADABLE, WORKER_MEMORY: out is unchanged. */
enum worker_status proc_maps_read(int fd, int memory, struct proto_mappings *out);
