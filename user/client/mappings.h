/* SPDX-License-Identifier: Apache-2.0 */
/* client/mappings.h - a client's queries for the mappings of a process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "proc/opener.h"
#include "wire/mappings.h"
#include "wire/status.h"

struct worker_client;

struct worker_mappings {
	uint64_t id; /* of the process's map, as in struct worker_map: blamed if a worker is lost */
	int fd;      /* a copy of its /proc/PID/maps; borrowed for the call */
	uint64_t until_ns;
};

/* Waits. With WORKER_OK *facts are set, and list, unless it is NULL, is a list that mappings_next
 * reads to its end. After WORKER_LATE, WORKER_REFUSED and WORKER_DOWN a later query may succeed. */
enum worker_status worker_client_mappings(struct worker_client *client,
	const struct worker_mappings *mappings, struct mappings_facts *facts, struct buf *list);

/* The same with an opener, which copies the text (client/opener_call.h); id: as above. Both wait.
 * 0; -EAGAIN: no worker or opener can, at the moment; others as those of opener_call_copy. */
/* Opens the process's jitdump. *number: in its name. -ENOENT: it has none. *jvm, where it is not
 * NULL, is set with either. */
int worker_client_dump(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct opener_found *found, pid_t *number, struct mappings_library *jvm);
/* Appends the list. */
int worker_client_list(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct buf *list);

/* Takes the memory with a worker's list. False: it is not what the worker says. */
bool mappings_take(int memory, uint64_t bytes, struct buf *list);
