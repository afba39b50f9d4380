/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/tree.h - the cgroup hierarchies of this host, and the folders in them: number → path, and
 * all there are. Ids are those of bpf/abi.h: which hierarchy, and the number in it. Cgroup v2 is
 * one, where it is mounted; of v1 those that BPF may be asked for, see CGROUP_CONTROLLERS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/err.h"

#define CGROUP_TREE_PATH_MAX 4096
#define CGROUP_TREE_SCAN_MAX 65536 /* folders that a scan looks at */

struct cgroup_tree;

/* Finds what is mounted where, as a process sees it: its folder in /proc, ours or another's.
 * -ENOENT: no hierarchy is; ids have no paths then. */
int cgroup_tree_open(const char *viewer, struct cgroup_tree **out, struct why *why);
void cgroup_tree_free(struct cgroup_tree *tree);

/* The v1 hierarchies that BPF is to ask, in that order; *live: a bit for each that has cgroups. */
const struct cgroup_v1 *cgroup_tree_v1(const struct cgroup_tree *tree, size_t *len, uint32_t *live);
/* Cgroups of this one are no containers unless their names say so: we are in one ourselves, which
 * somebody made for one controller only. */
bool cgroup_tree_is_doubted(const struct cgroup_tree *tree, uint64_t id);

/* "/" for the root, "/a/b" below it. -ENOENT, -ESTALE: it is gone; other -errno. */
int cgroup_tree_path(const struct cgroup_tree *tree, uint64_t id, char path[CGROUP_TREE_PATH_MAX]);
/* Was it removed? path: where it was, a fallback if opening by id is not permitted, or NULL. */
bool cgroup_tree_is_gone(const struct cgroup_tree *tree, uint64_t id, const char *path);
/* Its folder, the caller's. */
int cgroup_tree_open_id(const struct cgroup_tree *tree, uint64_t id, int *fd);
/* The folder that a perf event is bound to. -ENOTSUP: there is none, as the kernel has the
 * perf_event controller elsewhere than this cgroup. */
int cgroup_tree_open_perf(const struct cgroup_tree *tree, uint64_t id, const char *path, int *fd);

/* All there are now, parents first, the roots too; a scan that fn ends by a negative returns it. */
int cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx);

/* A path as a person gives it (under a mount or from the hierarchy's root), or a number in decimal
 * → the cgroup's id and path. */
int cgroup_tree_find(const struct cgroup_tree *tree, const char *name, uint64_t *id,
	char path[CGROUP_TREE_PATH_MAX], struct why *why);

/* Where v2 is mounted, "/sys/fs/cgroup" or "/sys/fs/cgroup/unified"; "": nowhere. */
const char *cgroup_tree_mount(const struct cgroup_tree *tree);
