/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/tree.c - a cgroup's number is its folder's inode number in kernfs, and kernfs can open a
 * folder by that number. So the path of a number needs no scan, whatever the tree's size. Nothing
 * is cached: callers must ask before a cgroup is removed. */
#include "cgroup/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/vec.h"
#include "cgroup/identity.h"
#include "cgroup/mounts.h"

#define FILEID_KERNFS 0xfe /* linux/exportfs.h */
#define HIERARCHIES_MAX (1 + CGROUP_V1_MAX)

struct hierarchy {
	int fd; /* the mount's root; -1: not mounted */
	char *mount;
	bool doubted;
};

struct cgroup_tree {
	struct hierarchy all[HIERARCHIES_MAX]; /* by the id's hierarchy; 0 is v2 */
	struct cgroup_v1 v1[CGROUP_V1_MAX];
	size_t v1_len;
	uint32_t live;
	struct hierarchy perf; /* where perf_event is, if in v1 */
	bool perf_is_v1;
};

/* ---- open ----------------------------------------------------------------------------------- */

struct texts {
	const char *viewer;
	struct buf mounts, own, controllers; /* mountinfo, cgroup, cgroups, of /proc */
};

static void texts_done(struct texts *t)
{
	buf_done(&t->mounts);
	buf_done(&t->own);
	buf_done(&t->controllers);
}

static void open_mount(struct hierarchy *h, const struct texts *t, const char *controller)
{
	char path[PATH_MAX], full[PATH_MAX + 64];

	if (!mounts_find(t->mounts.data, controller, path, sizeof(path)))
		return;
	snprintf(full, sizeof(full), "%s/root%s", t->viewer, path);
	h->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	h->mount = strdup(path);
	if (!h->mount)
		fd_close(&h->fd);
}

static bool is_listed(const struct cgroup_tree *tree, uint32_t hierarchy)
{
	for (size_t i = 0; i < tree->v1_len; i++)
		if (tree->v1[i].hierarchy == hierarchy)
			return true;
	return false;
}

/* Is our own cgroup there one of which nothing is known? */
static bool is_doubted(const char *own, uint32_t hierarchy)
{
	struct cgroup_identity id;
	char path[PATH_MAX];

	if (!mounts_own_path(own, hierarchy, path, sizeof(path)))
		return false;
	cgroup_identify(path, &id);
	return id.kind == CGROUP_OTHER;
}

/* Lists the v1 hierarchies that are doubted, or those that are not, best controller first. */
static void list_v1(struct cgroup_tree *tree, const struct texts *t, bool doubted)
{
#define CONTROLLER_NAME(id, name, kernel) [id] = (name),
	static const char *const names[] = { CGROUP_CONTROLLERS(CONTROLLER_NAME) };
#undef CONTROLLER_NAME

	for (uint32_t i = 0; i < CGROUP_CONTROLLERS_LEN && tree->v1_len < CGROUP_V1_MAX; i++) {
		struct mounts_controller c;
		struct hierarchy *h = &tree->all[1 + tree->v1_len];

		if (!mounts_controller(t->controllers.data, names[i], &c) || c.hierarchy == 0 ||
			is_listed(tree, c.hierarchy) ||
			is_doubted(t->own.data, c.hierarchy) != doubted)
			continue;
		open_mount(h, t, names[i]);
		/* A hierarchy that cannot be opened has no names. */
		if (h->fd < 0)
			continue;
		h->doubted = doubted;
		tree->live |= (c.cgroups > 1 ? 1U : 0U) << tree->v1_len;
		tree->v1[tree->v1_len++] = (struct cgroup_v1){ c.hierarchy, i };
	}
}

static int read_texts(struct texts *t)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "%s/mountinfo", t->viewer);
	err = fd_read_path(path, MOUNTS_BYTES_MAX, &t->mounts);
	if (err == 0)
		err = fd_read_path("/proc/self/cgroup", MOUNTS_BYTES_MAX, &t->own);
	/* A kernel without v1 need not have it. */
	if (err == 0 && fd_read_path("/proc/cgroups", MOUNTS_BYTES_MAX, &t->controllers) < 0)
		buf_clear(&t->controllers);
	if (err == 0)
		err = buf_putc(&t->mounts, '\0');
	if (err == 0)
		err = buf_putc(&t->own, '\0');
	return err == 0 ? buf_putc(&t->controllers, '\0') : err;
}

static int find_all(struct cgroup_tree *tree, const char *viewer)
{
	_cleanup_(texts_done) struct texts t = { viewer, BUF_INIT, BUF_INIT, BUF_INIT };
	struct mounts_controller perf = { 0 };
	int err = read_texts(&t);

	if (err < 0)
		return err;
	open_mount(&tree->all[0], &t, NULL);
	list_v1(tree, &t, false);
	list_v1(tree, &t, true);
	mounts_controller(t.controllers.data, "perf_event", &perf);
	tree->perf_is_v1 = perf.hierarchy != 0;
	if (tree->perf_is_v1)
		open_mount(&tree->perf, &t, "perf_event");
	for (size_t i = 0; i < HIERARCHIES_MAX; i++)
		if (tree->all[i].fd >= 0)
			return 0;
	return -ENOENT;
}

int cgroup_tree_open(const char *viewer, struct cgroup_tree **out, struct why *why)
{
	struct cgroup_tree *tree = calloc(1, sizeof(*tree));
	int err;

	if (!tree)
		return why_set(why, -ENOMEM, "out of memory");
	for (size_t i = 0; i < HIERARCHIES_MAX; i++)
		tree->all[i].fd = -1;
	tree->perf.fd = -1;
	err = find_all(tree, viewer);
	if (err < 0) {
		cgroup_tree_free(tree);
		return why_set(why, err,
			"no cgroup hierarchy is mounted: samples have no container; mount cgroup2 "
			"at /sys/fs/cgroup");
	}
	*out = tree;
	return 0;
}

static void hierarchy_done(struct hierarchy *h)
{
	fd_close(&h->fd);
	free(h->mount);
}

void cgroup_tree_free(struct cgroup_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < HIERARCHIES_MAX; i++)
		hierarchy_done(&tree->all[i]);
	hierarchy_done(&tree->perf);
	free(tree);
}

const struct cgroup_v1 *cgroup_tree_v1(const struct cgroup_tree *tree, size_t *len, uint32_t *live)
{
	*len = tree->v1_len;
	*live = tree->live;
	return tree->v1;
}

static const struct hierarchy *hierarchy_of(const struct cgroup_tree *tree, uint64_t id)
{
	uint64_t place = id >> CGROUP_HIERARCHY_SHIFT;

	return place < HIERARCHIES_MAX ? &tree->all[place] : NULL;
}

bool cgroup_tree_is_doubted(const struct cgroup_tree *tree, uint64_t id)
{
	const struct hierarchy *h = hierarchy_of(tree, id);

	return h && h->doubted;
}

const char *cgroup_tree_mount(const struct cgroup_tree *tree)
{
	return tree->all[0].mount ? tree->all[0].mount : "";
}

/* ---- by number ------------------------------------------------------------------------------ */

int cgroup_tree_open_id(const struct cgroup_tree *tree, uint64_t id, int *fd)
{
	const struct hierarchy *h = hierarchy_of(tree, id);
	uint64_t number = id & CGROUP_NUMBER_MASK;
	union {
		struct file_handle head;
		char bytes[sizeof(struct file_handle) + sizeof(number)];
	} handle = { .head = { .handle_bytes = sizeof(number), .handle_type = FILEID_KERNFS } };
	int opened;

	if (!h || h->fd < 0)
		return -ENOENT;
	memcpy(handle.head.f_handle, &number, sizeof(number));
	opened = open_by_handle_at(h->fd, &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}

/* The path of an open directory, from the mount point on. */
static int path_of(const struct hierarchy *h, int fd, char path[CGROUP_TREE_PATH_MAX])
{
	char link[64], full[PATH_MAX];
	size_t mount_len = strlen(h->mount);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, full, sizeof(full) - 1);
	if (len < 0)
		return -errno;
	full[len] = '\0';
	if (strncmp(full, h->mount, mount_len) != 0)
		return -ENOENT;
	snprintf(path, CGROUP_TREE_PATH_MAX, "%s", full[mount_len] ? full + mount_len : "/");
	return 0;
}

int cgroup_tree_path(const struct cgroup_tree *tree, uint64_t id, char path[CGROUP_TREE_PATH_MAX])
{
	_cleanup_fd_ int fd = -1;
	int err = cgroup_tree_open_id(tree, id, &fd);

	return err < 0 ? err : path_of(hierarchy_of(tree, id), fd, path);
}

static int open_below(int root_fd, const char *path, int *fd)
{
	int opened;

	path += strspn(path, "/");
	opened = openat(root_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}

static int open_same(const struct hierarchy *h, uint64_t number, const char *path, int *fd)
{
	_cleanup_fd_ int found = -1;
	struct stat st;
	int err = open_below(h->fd, path, &found);

	if (err < 0 || fstat(found, &st) < 0 || st.st_ino != number)
		return -ENOENT;
	*fd = TAKE_FD(found);
	return 0;
}

/* Kernels differ in whether the folder of a removed cgroup can be opened by its number for as long
 * as something refers to it; it has no files then. */
bool cgroup_tree_is_gone(const struct cgroup_tree *tree, uint64_t id, const char *path)
{
	const struct hierarchy *h = hierarchy_of(tree, id);
	_cleanup_fd_ int fd = -1;
	int err = cgroup_tree_open_id(tree, id, &fd);

	if (err == -EPERM && h && h->fd >= 0 && path)
		err = open_same(h, id & CGROUP_NUMBER_MASK, path, &fd);
	if (err == 0 && faccessat(fd, "cgroup.procs", F_OK, 0) < 0)
		err = -errno;
	return err == -ENOENT || err == -ESTALE || err == -ENODEV;
}

int cgroup_tree_open_perf(const struct cgroup_tree *tree, uint64_t id, const char *path, int *fd)
{
	int err = -ENOTSUP;

	if (!tree->perf_is_v1)
		return id >> CGROUP_HIERARCHY_SHIFT == 0 ? cgroup_tree_open_id(tree, id, fd) : err;
	if (tree->perf.fd >= 0 && path[strspn(path, "/")] != '\0')
		err = open_below(tree->perf.fd, path, fd);
	return err == -ENOENT ? -ENOTSUP : err;
}

/* ---- all ------------------------------------------------------------------------------------- */

struct scan {
	int (*fn)(void *ctx, uint64_t id, const char *path);
	void *ctx;
	uint64_t place;    /* of the hierarchy, as in ids */
	VEC(char *) paths; /* to be looked at */
	size_t looked;
};

static void scan_done(struct scan *scan)
{
	vec_each (&scan->paths, path)
		free(*path);
	vec_done(&scan->paths);
}

static int push(struct scan *scan, const char *parent, const char *name)
{
	char **slot = vec_add(&scan->paths);

	if (!slot)
		return -ENOMEM;
	if (asprintf(slot, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < 0)
		*slot = NULL;
	return *slot ? 0 : -ENOMEM;
}

static int scan_folder(struct scan *scan, int root_fd, const char *path)
{
	_cleanup_(dir_closep) DIR *dir = NULL;
	_cleanup_fd_ int fd = -1;
	struct dirent *entry;
	struct stat st;
	int err = open_below(root_fd, path, &fd);

	if (err < 0 || fstat(fd, &st) < 0)
		return 0; /* gone meanwhile */
	err = scan->fn(scan->ctx, scan->place | st.st_ino, path);
	dir = err == 0 ? fdopendir(fd) : NULL;
	if (dir)
		TAKE_FD(fd);
	while (dir && err == 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			err = push(scan, path, entry->d_name);
	return err;
}

static int scan_hierarchy(const struct hierarchy *h, struct scan *scan)
{
	int err = push(scan, "/", "");

	while (err == 0 && scan->paths.len > 0 && scan->looked++ < CGROUP_TREE_SCAN_MAX) {
		_cleanup_(freep) char *path = scan->paths.data[--scan->paths.len];

		err = scan_folder(scan, h->fd, path);
	}
	return err;
}

int cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < HIERARCHIES_MAX && err == 0; i++) {
		_cleanup_(scan_done) struct scan scan = { .fn = fn, .ctx = ctx };

		scan.place = (uint64_t)i << CGROUP_HIERARCHY_SHIFT;
		if (tree->all[i].fd >= 0)
			err = scan_hierarchy(&tree->all[i], &scan);
	}
	return err;
}

/* ---- by name --------------------------------------------------------------------------------- */

static bool all_digits(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int find_path(const struct hierarchy *h, const char *name, uint64_t *number,
	char path[CGROUP_TREE_PATH_MAX])
{
	_as_user_ uint64_t rights = caps_pause(); /* by ".." the name may lead anywhere */
	size_t mount_len = strlen(h->mount);
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int err;

	if (strncmp(name, h->mount, mount_len) == 0 &&
		(name[mount_len] == '/' || name[mount_len] == '\0'))
		name += mount_len;
	err = open_below(h->fd, name, &fd);
	if (err == 0 && fstat(fd, &st) < 0)
		err = -errno;
	if (err == 0)
		err = path_of(h, fd, path);
	if (err == 0)
		*number = st.st_ino;
	return err;
}

int cgroup_tree_find(const struct cgroup_tree *tree, const char *name, uint64_t *id,
	char path[CGROUP_TREE_PATH_MAX], struct why *why)
{
	int err = -ENOENT;

	if (all_digits(name)) {
		*id = strtoull(name, NULL, 10);
		err = cgroup_tree_path(tree, *id, path);
		if (err == -ESTALE) /* no cgroup has this id */
			err = -ENOENT;
	}
	for (size_t i = 0; i < HIERARCHIES_MAX && err < 0; i++) {
		uint64_t number;
		int one;

		if (tree->all[i].fd < 0 || all_digits(name))
			continue;
		one = find_path(&tree->all[i], name, &number, path);
		if (one == 0)
			*id = (uint64_t)i << CGROUP_HIERARCHY_SHIFT | number;
		/* Where it is, and not that it is in no other hierarchy. */
		if (one == 0 || err == -ENOENT)
			err = one;
	}
	return err == 0
		? 0
		: why_set(why, err, "no such cgroup: %s (%s); give its path below %s, or its id",
			  name, err_text(err), cgroup_tree_mount(tree));
}
