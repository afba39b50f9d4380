/* SPDX-License-Identifier: Apache-2.0 */
/* files/runtimes.h - the language runtimes of a cgroup's processes, and whether they write perf
 * maps. */
#pragma once

#include <stddef.h>

struct worker_client;

struct runtimes {
	const char *name; /* "native" if none is known */
	size_t processes; /* processes of JIT runtimes */
	size_t mapped;    /* processes with a perf map or jitdump */
};

/* Adds the processes in a cgroup's folder to *out. */
void runtimes_look(struct worker_client *worker, int cgroup_fd, struct runtimes *out);
