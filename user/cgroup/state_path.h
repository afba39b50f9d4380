/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_path.h - where a container runtime keeps what it knows of a container, by what the
 * container's cgroup tells. Paths are from the host's root. */
#pragma once

#include <stdbool.h>

#include "cgroup/identity.h"
#include "cgroup/state_file.h"

#define STATE_PATH_MAX 1400

struct state_path {
	enum state_kind kind;
	char path[STATE_PATH_MAX];
	/* Not "": path is a folder of namespaces, and this is below each of them. */
	char below[STATE_NAME_MAX + 32];
};

/* The i-th place to look at, best first; false: there are no more. */
bool state_path_candidate(const struct cgroup_identity *id, unsigned int i, struct state_path *out);

/* /NS/ID may be a container of containerd's, whose ctr names its cgroups so: the bundle's file in
 * the usual place. False: the path is of another form. id gets the container's. */
bool state_path_of_other(const char *path, char id[CGROUP_NAME_MAX], struct state_path *out);

/* What the facts of one file say of where more is, likewise. */
bool state_path_further(const struct state_facts *facts, enum state_kind from, unsigned int i,
	struct state_path *out);
