/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_state.h - what the runtimes' files say of one container: opened here with
 * care, read by a worker. Nothing is asked over a network. */
#pragma once

#include <stdint.h>

#include "bpf/reasons.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"
#include "cgroup/state_path.h"

struct worker_client;
struct inquiry;

struct container_state_stats {
	uint64_t read;                     /* files that were of use */
	uint64_t unread[FILE_REASONS_LEN]; /* that are there and were not opened */
	uint64_t damaged;                  /* that are not what they should be */
	uint64_t failed; /* over which a worker was lost, late or short of memory */
};

struct container_state {
	struct worker_client *worker;
	struct inquiry *inquiry; /* borrowed; NULL: no runtime is asked */
	int root_fd;             /* the host's root, as far as we see it; O_PATH */
	struct container_state_stats stats;
};

/* root_fd is the state's. 0 or -errno. */
int container_state_init(struct container_state *state, struct worker_client *worker);
void container_state_done(struct container_state *state);

struct container_state_query {
	uint64_t id; /* of the container, less than 2^60 */
	const struct cgroup_identity *identity;
	const char *path; /* of its cgroup */
	int cgroup_fd;    /* its folder, for its processes; -1: it is gone */
	uint64_t until_ns;
};

enum container_state_result {
	CONTAINER_STATE_FOUND,
	CONTAINER_STATE_NONE,  /* no file speaks of it, yet */
	CONTAINER_STATE_LATER, /* the worker is late, or lost */
};

/* Waits for the worker until then. */
enum container_state_result container_state_read(struct container_state *state,
	const struct container_state_query *query, struct state_facts *out);
