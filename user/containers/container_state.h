/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_state.h - facts about one container from its runtime's files: copied by an
 * opener, parsed by a worker. No network is used. */
#pragma once

#include <stdint.h>

#include "bpf/reasons.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"
#include "cgroup/state_path.h"

struct worker_client;
struct inquiry;

struct container_state_stats {
	uint64_t read;                     /* useful files */
	uint64_t unread[FILE_REASONS_LEN]; /* existing files that were not opened */
	uint64_t damaged;                  /* malformed files */
	uint64_t failed;                   /* a worker was lost, late or out of memory */
	uint64_t other_pod;                /* with keys of another pod than the cgroup's */
};

struct container_state {
	struct worker_client *worker; /* NULL: nothing is known */
	struct inquiry *inquiry; /* borrowed; NULL: runtimes are not queried */
	int root_fd;             /* the host's root, as far as visible; O_PATH */
	struct container_state_stats stats;
};

/* The state owns root_fd. 0 or -errno. */
int container_state_init(struct container_state *state, struct worker_client *worker);
void container_state_done(struct container_state *state);

struct container_state_query {
	uint64_t id; /* of the container, less than 2^60 */
	const struct cgroup_identity *identity;
	const char *path; /* of its cgroup */
	int cgroup_fd;    /* folder of the cgroup, to find its processes; -1: removed */
	uint64_t until_ns;
};

enum container_state_result {
	CONTAINER_STATE_FOUND,
	CONTAINER_STATE_NONE,  /* no file has it yet */
	CONTAINER_STATE_LATER, /* the worker is late, or lost */
};

/* Waits for the worker until the deadline. */
enum container_state_result container_state_read(struct container_state *state,
	const struct container_state_query *query, struct state_facts *out);
