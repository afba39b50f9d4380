/* SPDX-License-Identifier: Apache-2.0 */
/* worker/state_reader.h - reads a container runtime's file whole, and parses it. */
#pragma once

#include "cgroup/state_file.h"
#include "wire/status.h"

/* Call it before the sandbox: it reads the seed for hashes from a file. */
void state_reader_begin(void);

/* WORKER_OK; WORKER_UNKNOWN: the container is not in it; WORKER_TOO_LARGE, WORKER_DAMAGED,
 * WORKER_UNREADABLE, WORKER_MEMORY. */
enum worker_status state_reader_read(
	int fd, const struct state_query *query, struct state_facts *out);
