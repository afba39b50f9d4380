/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/ps_runtime.h - which language runtimes the processes of a cgroup are, and whether they write
 * perf maps. */
#pragma once

#include <stddef.h>

struct ps_runtime {
	const char *name; /* "native" where it is none of those that are known */
	size_t processes; /* that are JIT runtimes */
	size_t mapped;    /* of those, with a perf map or jitdump */
};

/* Of the processes in a cgroup's folder; adds to what is there. */
void ps_runtime_look(int cgroup_fd, struct ps_runtime *out);
