/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container.h - one container and its known facts. It may have nested cgroups, and one
 * in each v1 hierarchy: all are below the same path, which identifies the container. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/identity.h"
#include "cgroup/tree.h"
#include "containers/container_state.h"

struct container {
	char *path;      /* up to and including the container's own part */
	uint64_t serial; /* unique */
	uint64_t account; /* container_account() of the path */
	uint64_t cgroup; /* the latest of its cgroups */
	uint32_t refs;   /* number of its existing cgroups */
	uint32_t tries;  /* to find its name */
	uint64_t next_ns;
	bool found, pause;
	char *name, *image, *pod, *namespace_; /* NULL: unknown */
	char *labels;                          /* as in struct state_facts */
	uint32_t labels_len;
};

/* Length of the container's part of a cgroup's path; 0: not in a container. A cgroup that only a
 * runtime's file can identify counts as a container. */
size_t container_part(const char *path, const struct cgroup_identity *id);

/* The same of the outermost container, whose identity is in *id. */
size_t container_outermost(const char *path, struct cgroup_identity *id);

/* Stands for the name of a container that has none: its id, cut to the usual length where it is
 * hexadecimal. Returns out. */
const char *container_short_id(const char *id, char out[CGROUP_NAME_MAX]);

/* Who pays for what tasks of this cgroup take (base/share.h): the outermost container, the user
 * whose slice it is in, or the unit; cgroups below these are none of their own. */
uint64_t container_account(const char *path);
/* Is it the cgroup that all others of its account are below? */
bool container_is_outermost(const char *path);
/* The same as container_account for a process. 0: it is gone. */
uint64_t container_account_of(pid_t process);
/* For the text of its /proc/PID/cgroup: of all hierarchies, the first cgroup that a container, user
 * or unit pays for, else that of cgroup v2, else the first that is no root. */
uint64_t container_account_in(char *text);

/* NULL: out of memory. */
struct container *container_new(const char *path, size_t len, uint64_t serial);
void container_free(struct container *container);

/* Looks for its name until the deadline. False: do not try again; else try again at
 * container->next_ns. */
bool container_find_name(struct container *container, struct container_state *state,
	const struct cgroup_tree *tree, uint64_t now_ns, uint64_t until_ns);

/* The hash of its pod's number; 0: it is in none. */
uint64_t container_pod(const struct container *c);

/* The known facts, maybe stored in f; NULL: none. */
const struct state_facts *container_facts(const struct container *c, struct state_facts *f);

/* The path of a cgroup outside the mounts here, as seen in a container: its process's relative path
 * leads up to it, with `..` parts that give no information. */
int container_path_by_process(uint64_t cgroup, uint32_t tgid, char path[CGROUP_TREE_PATH_MAX]);
