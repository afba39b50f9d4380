/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/mounts.h - which cgroup hierarchies there are, from texts of /proc (proc(5), cgroups(7)).
 * Parsers: text in, facts out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNTS_BYTES_MAX (4UL << 20)

/* Text of mountinfo → where a v1 controller is mounted, or v2 (NULL); best where the mount's root
 * is the hierarchy's. False: nowhere. */
bool mounts_find(const char *mountinfo, const char *controller, char *path, size_t size);

/* Text of mountinfo: is any hierarchy mounted from its root? */
bool mounts_are_whole(const char *mountinfo);

struct mounts_controller {
	uint32_t hierarchy; /* 0: it is v2's, or nobody's */
	uint32_t cgroups;   /* in that hierarchy, the root counted */
};

/* Text of /proc/cgroups. */
bool mounts_controller(const char *cgroups, const char *name, struct mounts_controller *out);

/* Text of /proc/PID/cgroup → the path in that hierarchy, by its number. */
bool mounts_own_path(const char *cgroup, uint32_t hierarchy, char *path, size_t size);
