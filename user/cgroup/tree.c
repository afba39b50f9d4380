/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/tree.c - a cgroup2 id is the number of its directory in kernfs, and kernfs lets a
 * directory be opened by its number: no scan of the tree is needed, whatever its size. */
#include "cgroup/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/strtab.h"

#define MOUNTINFO_BYTES_MAX (4 * 1024 * 1024)
#define FILEID_KERNFS 0xfe /* linux/exportfs.h */
#define IDS_MAX 262144

struct cgroup_tree {
	int mount_fd;
	char mount[PATH_MAX];
	struct strtab paths;
	struct hash by_id; /* cgroup id → string id */
};

/* The mount point in a line of mountinfo (proc(5)) whose file system is cgroup2. */
static bool parse_mount_line(const char *line, char *mount)
{
	const char *fs = strstr(line, " - cgroup2 "), *end = strchr(line, '\n'), *at = line;
	size_t len;

	if (!fs || (end && fs > end))
		return false;
	for (int field = 0; at && field < 4; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	len = at ? strcspn(at, " ") : 0;
	if (len == 0 || len >= PATH_MAX)
		return false;
	memcpy(mount, at, len);
	mount[len] = '\0';
	return true;
}

static int find_mount(char *mount)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_path("/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &text);

	if (err < 0)
		return err;
	for (const char *line = text.data; line && *line;) {
		if (parse_mount_line(line, mount))
			return 0;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return -ENOENT;
}

int cgroup_tree_open(struct cgroup_tree **out, struct why *why)
{
	struct cgroup_tree *tree = calloc(1, sizeof(*tree));
	int err;

	if (!tree || strtab_init(&tree->paths) < 0) {
		free(tree);
		return why_set(why, -ENOMEM, "out of memory");
	}
	tree->mount_fd = -1;
	err = find_mount(tree->mount);
	if (err == 0) {
		tree->mount_fd = open(tree->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = tree->mount_fd < 0 ? -errno : 0;
	}
	if (err < 0) {
		cgroup_tree_free(tree);
		return why_set(
			why, err, "no cgroup2 hierarchy is mounted: samples carry no container");
	}
	*out = tree;
	return 0;
}

void cgroup_tree_free(struct cgroup_tree *tree)
{
	if (!tree)
		return;
	fd_close(&tree->mount_fd);
	strtab_done(&tree->paths);
	hash_done(&tree->by_id);
	free(tree);
}

static int open_by_id(const struct cgroup_tree *tree, uint64_t id)
{
	union {
		struct file_handle head;
		char bytes[sizeof(struct file_handle) + sizeof(id)];
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	int fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(tree->mount_fd, &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What stands behind the mount point in the path of an open directory. */
static int path_of(const struct cgroup_tree *tree, int fd, char *path, size_t size)
{
	char link[64], full[PATH_MAX];
	size_t mount_len = strlen(tree->mount);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, full, sizeof(full) - 1);
	if (len < 0)
		return -errno;
	full[len] = '\0';
	if (strncmp(full, tree->mount, mount_len) != 0)
		return -ENOENT;
	snprintf(path, size, "%s", full[mount_len] ? full + mount_len : "/");
	return 0;
}

const char *cgroup_tree_path(struct cgroup_tree *tree, uint64_t id)
{
	uint64_t *known = hash_find(&tree->by_id, id);
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX];
	uint32_t string;

	if (known)
		return strtab_get(&tree->paths, (uint32_t)*known);
	fd = open_by_id(tree, id);
	if (fd < 0 || path_of(tree, fd, path, sizeof(path)) < 0)
		return NULL;
	if (tree->by_id.len >= IDS_MAX || strtab_puts(&tree->paths, path, &string) < 0 ||
		hash_put(&tree->by_id, id, string) < 0)
		return NULL;
	return strtab_get(&tree->paths, string);
}

static bool all_digits(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

int cgroup_tree_open_dir(struct cgroup_tree *tree, const char *name, int *fd, struct why *why)
{
	size_t mount_len = strlen(tree->mount);
	const char *below = name;
	int opened;

	if (all_digits(name)) {
		opened = open_by_id(tree, strtoull(name, NULL, 10));
	} else {
		if (strncmp(name, tree->mount, mount_len) == 0)
			below += mount_len;
		below += strspn(below, "/");
		opened = openat(
			tree->mount_fd, *below ? below : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		opened = opened < 0 ? -errno : opened;
	}
	if (opened < 0)
		return why_set(why, opened,
			"no such cgroup: %s (%s); give its path below %s, or its id", name,
			err_text(opened), tree->mount);
	*fd = opened;
	return 0;
}

const char *cgroup_tree_mount(const struct cgroup_tree *tree)
{
	return tree->mount;
}
