/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/mounts.h - finds the cgroup hierarchies in texts of /proc (proc(5), cgroups(7)). Parsers:
 * text in, facts out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNTS_BYTES_MAX (4UL << 20)

/* mountinfo → the mount point of a v1 controller, or of v2 (NULL); preferably one whose root is the
 * hierarchy's. False: not mounted. */
bool mounts_find(const char *mountinfo, const char *controller, char *path, size_t size);

/* mountinfo: is any hierarchy mounted from its root? */
bool mounts_are_whole(const char *mountinfo);

struct mounts_controller {
	uint32_t hierarchy; /* 0: in v2 or unused */
	uint32_t cgroups;   /* in that hierarchy, including the root */
};

/* Parses /proc/cgroups. */
bool mounts_controller(const char *cgroups, const char *name, struct mounts_controller *out);

/* /proc/PID/cgroup → the path in a hierarchy, by its number. */
bool mounts_own_path(const char *cgroup, uint32_t hierarchy, char *path, size_t size);
