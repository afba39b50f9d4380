/* SPDX-License-Identifier: Apache-2.0 */
/* replay_host.c - whatever else the agent reads of the system is a file of the recording, or is not
 * there. All files are root's, whoever has them. Privileges are neither needed nor given up. */
#include "replay_world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/privileges.h"
#include "files/vdso.h"
#include "base/fd.h"
#include "bpf/reasons.h"
#include "cgroup/tree.h"
#include "proc/opener.h"
#include "proc/pid_namespace.h"

/* ---- proc/opener.h ----------------------------------------------------------------------------
 */

static uint32_t number(const char *line, const char *key)
{
	return (uint32_t)handover_number(line, key);
}

/* A path from the recording's root; the recording has no links. */
static int open_below(int root_fd, const char *path, int flags, int *fd)
{
	const char *below = root_fd == AT_FDCWD ? path : path + strspn(path, "/");
	int opened = openat(root_fd, below, flags | O_CLOEXEC);

	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}

/* In an opener, too. */
static int open_in_recording(const char *path, int flags, int *fd)
{
	char full[PATH_MAX];

	snprintf(
		full, sizeof(full), "/proc/%d/fd/%d/%s", replay_world.pid, replay_world.root, path);
	return open_below(AT_FDCWD, full, flags, fd);
}

int opener_mapped_file(const struct opener_mapping *m, int *fd, char *path, size_t path_size)
{
	vec_each (&replay_world.handover.lines, line) {
		if (!handover_is(*line, "file") ||
			number(*line, "process") != (uint32_t)m->process.pid ||
			handover_number(*line, "start") != m->vm_start)
			continue;
		if (number(*line, "refused"))
			return (int)number(*line, "refused");
		snprintf(path, path_size, "%s", handover_text(*line, "path"));
		if (open_in_recording(path, O_RDONLY, fd) < 0) {
			fprintf(stderr, "%s: it is not in the recording\n", path);
			exit(1);
		}
		return 0;
	}
	return OBJECT_GONE;
}

/* No process of the recording lives. */
int opener_process(const struct opener_process *process, int *fd)
{
	(void)process;
	(void)fd;
	return -ESRCH;
}

int opener_root(const struct opener_process *process, int *fd)
{
	(void)process;
	return open_in_recording(".", O_PATH | O_DIRECTORY, fd);
}

int opener_in_root(int root_fd, const char *path, int *fd)
{
	return open_below(root_fd, path, O_RDONLY, fd);
}

int opener_for_user(int root_fd, const char *path, uid_t uid, int *fd)
{
	(void)uid;
	return open_below(root_fd, path, O_RDONLY, fd);
}

int opener_itself(int root_fd, const char *path, uid_t uid, int *fd)
{
	return opener_for_user(root_fd, path, uid, fd);
}

int opener_folder(int root_fd, const char *path, int *fd)
{
	return open_below(root_fd, path, O_RDONLY | O_DIRECTORY, fd);
}

int opener_above_cwd(const struct opener_process *process, int *fd, char *path, size_t path_size)
{
	(void)process, (void)fd, (void)path, (void)path_size;
	return -ESRCH;
}

int opener_program(const struct opener_process *process, char *name, size_t size)
{
	(void)process;
	snprintf(name, size, "replayed");
	return 0;
}

int opener_dir(const struct opener_process *process, const char *path, int *fd)
{
	(void)process;
	return open_in_recording(path, O_PATH | O_DIRECTORY, fd);
}

int opener_perf_map(
	int dir_fd, const struct opener_process *process, pid_t ns_pid, uid_t uid, int *fd)
{
	char name[64];

	(void)process;
	(void)uid;
	snprintf(name, sizeof(name), "perf-%d.map", ns_pid);
	return open_below(dir_fd, name, O_RDONLY, fd);
}

int opener_reason(int err)
{
	(void)err;
	return -1;
}

/* ---- cgroup/tree.h ----------------------------------------------------------------------------
 */

struct cgroup_tree {
	int unused;
};

int cgroup_tree_open(const char *viewer, struct cgroup_tree **out, struct why *why)
{
	(void)viewer;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : why_set(why, -ENOMEM, "out of memory");
}

void cgroup_tree_free(struct cgroup_tree *tree)
{
	free(tree);
}

const struct cgroup_v1 *cgroup_tree_v1(const struct cgroup_tree *tree, size_t *len, uint32_t *live)
{
	(void)tree;
	*len = 0;
	*live = 0;
	return NULL;
}

bool cgroup_tree_is_doubted(const struct cgroup_tree *tree, uint64_t id)
{
	(void)tree;
	(void)id;
	return false;
}

int cgroup_tree_path(const struct cgroup_tree *tree, uint64_t id, char path[CGROUP_TREE_PATH_MAX])
{
	(void)tree;
	(void)id;
	(void)path;
	return -ENOENT;
}

bool cgroup_tree_is_gone(const struct cgroup_tree *tree, uint64_t id, const char *path)
{
	(void)tree;
	(void)id;
	(void)path;
	return false;
}

int cgroup_tree_open_id(const struct cgroup_tree *tree, uint64_t id, int *fd)
{
	(void)tree;
	(void)id;
	(void)fd;
	return -ENOENT;
}

int cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx)
{
	int err = 0;

	(void)tree;
	vec_each (&replay_world.handover.lines, line)
		if (handover_is(*line, "cgroup") && err == 0)
			err = fn(ctx, handover_number(*line, "id"), handover_text(*line, "path"));
	return err;
}

/* ---- the rest of the system -------------------------------------------------------------------
 */

int privileges_check(struct why *why)
{
	(void)why;
	return 0;
}

void privileges_warn(struct warnings *warnings)
{
	(void)warnings;
}

int privileges_drop(enum filter filter, struct why *why)
{
	(void)filter;
	(void)why;
	return 0;
}

void privileges_warn_files(struct warnings *warnings)
{
	(void)warnings;
}

void privileges_warn_inflight(struct warnings *warnings)
{
	(void)warnings;
}

void privileges_raise(void)
{
}

int vdso_copy(int *fd)
{
	(void)fd;
	return -ENOENT;
}

uint32_t pid_namespace_number(void)
{
	return 0;
}

bool pid_namespace_is_host(void)
{
	return true;
}

/* By --wrap: the library's other functions of that file are needed. */
int __wrap_fd_read_path(const char *path, size_t size_max, struct buf *out);
int __wrap_fd_read_path(const char *path, size_t size_max, struct buf *out)
{
	_cleanup_fd_ int fd = -1;
	int err = open_below(replay_world.root, path, O_RDONLY, &fd);

	return err < 0 ? err : fd_read_all(fd, size_max, out);
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	int result = __real_fstat(fd, st);

	st->st_uid = st->st_gid = 0;
	return result;
}
