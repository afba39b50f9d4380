/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_path.h - paths of a runtime's state files of a container, from its cgroup's
 * identity. Paths start at the host's root. */
#pragma once

#include <stdbool.h>

#include "cgroup/identity.h"
#include "cgroup/state_file.h"

#define STATE_PATH_MAX 1400

struct state_path {
	enum state_kind kind;
	enum state_runtime runtime; /* if below is "" */
	char path[STATE_PATH_MAX];
	/* Not "": path is a folder of namespaces, and this path is relative to each of them. */
	char below[STATE_NAME_MAX + 32];
};

/* Is it one part of a path, and leads nowhere else? */
bool state_path_is_id(const char *id);
/* Who writes the bundles in this folder of namespaces: containerd for Kubernetes, or for others. */
enum state_runtime state_path_of_namespace(const char *name);
/* Whose bundle is that of a container of this kind, in the folders of containers/storage? */
enum state_runtime state_path_of_storage(enum cgroup_kind kind);

/* The i-th place, best first; false: no more. */
bool state_path_candidate(const struct cgroup_identity *id, unsigned int i, struct state_path *out);

/* The bundle of /NS/ID, which may be a container of containerd's ctr. False: the path has another
 * form. id gets the container's. */
bool state_path_of_other(const char *path, char id[CGROUP_NAME_MAX], struct state_path *out);

/* The same, from paths in the facts of one file to further files. */
bool state_path_further(const struct state_facts *facts, enum state_kind from, unsigned int i,
	struct state_path *out);
