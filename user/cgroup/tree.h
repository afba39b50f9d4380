/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/tree.h - cgroup id → path, in the cgroup2 hierarchy.
 * A path once found is kept, so that the samples of a cgroup that is gone still have theirs. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct cgroup_tree;

/* Finds where cgroup2 is mounted. -ENOENT: it is not; ids have no paths then. */
int cgroup_tree_open(struct cgroup_tree **out, struct why *why);
void cgroup_tree_free(struct cgroup_tree *tree);

/* "/" for the root, "/a/b" below it; NULL when the id is not known and cannot be found any more.
 * Lives as long as the tree. */
const char *cgroup_tree_path(struct cgroup_tree *tree, uint64_t id);

/* A path as a person gives it (under the mount or from the hierarchy's root) or a decimal id → a
 * descriptor of the cgroup's directory, the caller's. */
int cgroup_tree_open_dir(struct cgroup_tree *tree, const char *name, int *fd, struct why *why);

/* The mount point, "/sys/fs/cgroup" or "/sys/fs/cgroup/unified". */
const char *cgroup_tree_mount(const struct cgroup_tree *tree);
