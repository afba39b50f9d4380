/* SPDX-License-Identifier: Apache-2.0 */
/* worker/state_reader.h - a container runtime's file, whole, for its parser. */
#pragma once

#include "cgroup/state_file.h"
#include "wire/status.h"

/* Before the sandbox: hashes in it need a seed, which is a file's. */
void state_reader_begin(void);

/* WORKER_OK; WORKER_UNKNOWN: it does not speak of that container; WORKER_TOO_LARGE, WORKER_DAMAGED,
 * WORKER_UNREADABLE, WORKER_MEMORY. */
enum worker_status state_reader_read(
	int fd, enum state_kind kind, const char *id, struct state_facts *out);
