/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/tree.h - the cgroup hierarchies of this host and their folders: id → path, and lists. Ids
 * are those of bpf/abi_cgroup.h: a hierarchy and a number in it. The hierarchies are cgroup v2, if
 * mounted, and the v1 hierarchies that BPF can use, see CGROUP_CONTROLLERS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/err.h"

#define CGROUP_TREE_PATH_MAX 4096
#define CGROUP_TREE_SCAN_MAX 65536 /* limit of folders in a scan */

struct cgroup_tree;

/* Finds the mounts as a process sees them. viewer: its folder in /proc. -ENOENT: no hierarchy is
 * mounted; then ids have no paths. */
int cgroup_tree_open(const char *viewer, struct cgroup_tree **out, struct why *why);
void cgroup_tree_free(struct cgroup_tree *tree);

/* The v1 hierarchies for BPF, in order; *live: a bit for each that has cgroups. */
const struct cgroup_v1 *cgroup_tree_v1(const struct cgroup_tree *tree, size_t *len, uint32_t *live);
/* True: cgroups of this hierarchy are containers only if their names say so. We are in such a
 * cgroup ourselves, which somebody made for a single controller. */
bool cgroup_tree_is_doubted(const struct cgroup_tree *tree, uint64_t id);

/* "/" for the root, "/a/b" below it. -ENOENT, -ESTALE: removed; other -errno. */
int cgroup_tree_path(const struct cgroup_tree *tree, uint64_t id, char path[CGROUP_TREE_PATH_MAX]);
/* Was it removed? path: its former path, used if opening by id is not permitted, or NULL. */
bool cgroup_tree_is_gone(const struct cgroup_tree *tree, uint64_t id, const char *path);
/* Opens its folder; *fd is the caller's. */
int cgroup_tree_open_id(const struct cgroup_tree *tree, uint64_t id, int *fd);
/* Opens the folder that a perf event attaches to. -ENOTSUP: none, because the perf_event controller
 * is in another hierarchy. */
int cgroup_tree_open_perf(const struct cgroup_tree *tree, uint64_t id, const char *path, int *fd);

/* Calls fn for all current cgroups, parents first, including roots. A negative return ends the scan
 * and is returned. */
int cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx);

/* Finds a cgroup by user input: a path (below a mount or from the hierarchy's root), which is
 * opened with the caller's rights, or a decimal id. */
int cgroup_tree_find(const struct cgroup_tree *tree, const char *name, uint64_t *id,
	char path[CGROUP_TREE_PATH_MAX], struct why *why);

/* Mount point of v2, "/sys/fs/cgroup" or "/sys/fs/cgroup/unified"; "": not mounted. */
const char *cgroup_tree_mount(const struct cgroup_tree *tree);
