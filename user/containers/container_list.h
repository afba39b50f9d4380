/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_list.h - the current containers, pods and units, for lists and searches.
 * Starts a worker of its own and ends it afterwards. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"

struct cgroup_tree;
struct worker_client;

struct container_list_item {
	uint64_t cgroup; /* among equal paths that of the first hierarchy: v2 before v1 */
	char *path;
	struct cgroup_identity identity;
	struct state_facts *facts; /* of its container; NULL: unknown */
	char *label; /* of one inside another, or a user's, with whose it is; NULL: it is neither */
};

struct container_list {
	VEC(struct container_list_item) all; /* sorted by path, without duplicates */
};

/* The worker reads runtimes' files. */
int container_list_read(struct worker_client *worker, const struct cgroup_tree *tree,
	struct container_list *out, struct why *why);
void container_list_done(struct container_list *list);

/* The name of a container or another cgroup, the same as in a profile. */
const char *container_list_name(const struct container_list_item *item);
/* Is it the container's own folder, not one below it? */
bool container_list_is_container(const struct container_list_item *item);
bool container_list_is_pod(const struct container_list_item *item);
bool container_list_is_unit(const struct container_list_item *item);

/* Does the name match? The beginning of a name or id is enough if it is unique. Who is in a
 * container, and a user, names containers as he likes: such a one matches if no other does. */
enum container_match {
	CONTAINER_MATCH_NO,
	CONTAINER_MATCH_INNER_BEGINNING,
	CONTAINER_MATCH_INNER,
	CONTAINER_MATCH_BEGINNING,
	CONTAINER_MATCH_WHOLE,
};

/* The same match, of this container. */
enum container_match container_list_weigh(
	const struct container_list_item *item, enum container_match match);
enum container_match container_list_match(const struct container_list_item *item, const char *name);
/* Is it a pod, or a container in one? name: its own, NAMESPACE/NAME, or its uid. */
enum container_match container_list_match_pod(
	const struct container_list_item *item, const char *name);
/* Is it that unit's own folder? name: with or without `.service`. */
enum container_match container_list_match_unit(
	const struct container_list_item *item, const char *name);
