/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_list.h - the containers, pods and units that there are now, for whoever
 * lists them or looks for one. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"

struct cgroup_tree;
struct worker_client;

struct container_list_item {
	uint64_t cgroup; /* of several with the same path the first hierarchy's: v2 before v1 */
	char *path;
	struct cgroup_identity identity;
	struct state_facts *facts; /* of its container; NULL: none are known */
};

struct container_list {
	VEC(struct container_list_item) all; /* by path; each path once */
};

/* The worker reads runtimes' files. */
int container_list_read(struct worker_client *worker, const struct cgroup_tree *tree,
	struct container_list *out, struct why *why);
void container_list_done(struct container_list *list);

/* What a container, or another cgroup, is called: as in a profile. */
const char *container_list_name(const struct container_list_item *item);
/* Is it the folder of a container itself, and not one below it? */
bool container_list_is_container(const struct container_list_item *item);
bool container_list_is_pod(const struct container_list_item *item);
bool container_list_is_unit(const struct container_list_item *item);

/* Is it called so? The beginning of a name or id is enough where nothing else is called so. */
enum container_match { CONTAINER_MATCH_NO, CONTAINER_MATCH_BEGINNING, CONTAINER_MATCH_WHOLE };
enum container_match container_list_match(const struct container_list_item *item, const char *name);
