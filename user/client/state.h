/* SPDX-License-Identifier: Apache-2.0 */
/* client/state.h - a client's query for facts in a container runtime's file. */
#pragma once

#include <stdint.h>

#include "cgroup/state_file.h"
#include "wire/status.h"

struct worker_client;

struct worker_state {
	uint64_t id; /* the caller's, less than 2^60: blamed if a worker is lost */
	int fd;      /* borrowed for the call */
	const struct state_query *query;
	uint64_t until_ns;
};

/* Waits. *out is set with WORKER_OK only; WORKER_UNKNOWN: the container is not in the file. After
 * WORKER_LATE, WORKER_REFUSED and WORKER_DOWN a later query may succeed. */
enum worker_status worker_client_state(
	struct worker_client *client, const struct worker_state *state, struct state_facts *out);
