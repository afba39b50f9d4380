/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container.h - one container, and what is known of it. It may have cgroups of its own,
 * and one in each v1 hierarchy: all of them below the same path, which is the container's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/identity.h"
#include "cgroup/tree.h"
#include "containers/container_state.h"

struct container {
	char *path;      /* up to and with what it is */
	uint64_t serial; /* no two have the same */
	uint64_t cgroup; /* one of its cgroups, the last that was met */
	uint32_t refs;   /* cgroups that there are of it */
	uint32_t tries;  /* to find its name */
	uint64_t next_ns;
	bool found, pause;
	char *name, *image, *pod, *namespace_; /* NULL: not known */
	char *labels;                          /* as in struct state_facts */
	uint32_t labels_len;
};

/* How much of a cgroup's path is its container's; 0: it is in none. A cgroup that only its
 * runtime's file can tell from others counts as one. */
size_t container_part(const char *path, const struct cgroup_identity *id);

/* NULL: out of memory. */
struct container *container_new(const char *path, size_t len, uint64_t serial);
void container_free(struct container *container);

/* Looks for its name, until then at most. False: it is not to be tried again; else it is next due
 * at container->next_ns. */
bool container_find_name(struct container *container, struct container_state *state,
	const struct cgroup_tree *tree, uint64_t now_ns, uint64_t until_ns);

/* Of what is known, maybe in f; NULL: nothing. */
const struct state_facts *container_facts(const struct container *c, struct state_facts *f);

/* The path of a cgroup that is outside of what is mounted here, as seen from inside a container:
 * what its process says of it leads up to it, in parts `..` that tell nothing. */
int container_path_by_process(uint64_t cgroup, uint32_t tgid, char path[CGROUP_TREE_PATH_MAX]);
