/* SPDX-License-Identifier: Apache-2.0 */
/* proc/opener.c - opens with O_PATH, checks, then opens the checked file through /proc/self/fd.
 * openat2 with RESOLVE_IN_ROOT keeps a container's symbolic links inside the container. */
#include "proc/opener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "bpf/reasons.h"
#include "proc/status.h"

#define PATH_BYTES 64
#define STAT_BYTES_MAX 65536
#define DELETED " (deleted)" /* what the kernel adds to a path */
/* Start times in /proc are in clock ticks, and file times come from a coarse clock. */
#define START_SLACK_NS (2 * NSEC_PER_SEC)

static int open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Opens for reading what an O_PATH descriptor stands for. */
static int reopen(int path_fd)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int reason_of(int err)
{
	if (err == -ENOENT || err == -ESRCH)
		return OBJECT_GONE;
	if (err == -EACCES || err == -EPERM)
		return OBJECT_DENIED;
	return err == -EMFILE || err == -ENFILE ? OBJECT_LIMIT : OBJECT_OPEN;
}

static void read_link(int link, char *name, size_t size)
{
	char path[PATH_BYTES];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", link);
	len = readlink(path, name, size - 1);
	name[len > 0 ? len : 0] = '\0';
}

/* Is it the file that BPF saw? An overlay shows the lower file's number of a file that was copied
 * up, where the kernel's own inode is the upper one: there, the time of writing decides. */
static bool is_same_file(int path_fd, const struct stat *st, const struct opener_mapping *m)
{
	uint64_t written_ns =
		(uint64_t)st->st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st->st_mtim.tv_nsec;
	struct statfs fs;

	if (st->st_ino == m->ino)
		return true;
	return m->mtime_ns == written_ns && fstatfs(path_fd, &fs) == 0 &&
		fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* ---- a process's directories ----------------------------------------------------------------- */

/* Finds a living thread and opens /proc/TID, where the files are as in /proc/PID. -ESRCH: no thread
 * lives. */
static int open_living_thread(pid_t pid, int dir_fd)
{
	int task_fd = openat(dir_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ESRCH;
	DIR *tasks = task_fd < 0 ? NULL : fdopendir(task_fd);
	char path[PATH_BYTES], exe[1];
	struct dirent *entry;
	struct stat st;

	if (!tasks) {
		fd_close(&task_fd);
		return -ESRCH;
	}
	while (found < 0 && (entry = readdir(tasks))) {
		_cleanup_fd_ int fd = -1;

		snprintf(path, sizeof(path), "/proc/%.16s", entry->d_name);
		fd = entry->d_name[0] == '.' ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		snprintf(path, sizeof(path), "task/%d", pid);
		/* The number may be another process's by now. */
		if (fd >= 0 && fstatat(fd, path, &st, 0) == 0 &&
			readlinkat(fd, "exe", exe, sizeof(exe)) > 0)
			found = TAKE_FD(fd);
	}
	closedir(tasks);
	return found;
}

/* /proc/PID of this very process: a descriptor of it never leads to one that has the pid later, and
 * only that process has this start. A main thread that ended has neither mappings nor a root: then
 * it is that of another thread. */
int opener_process(const struct opener_process *process, int *fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_fd_ int dir_fd = -1;
	_cleanup_fd_ int stat_fd = -1;
	uint64_t ticks = 0, ticks_a_second = (uint64_t)sysconf(_SC_CLK_TCK);
	char path[PATH_BYTES];
	int err, living;

	snprintf(path, sizeof(path), "/proc/%d", process->pid);
	dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	if (process->start_ns == 0) {
		*fd = TAKE_FD(dir_fd);
		return 0;
	}
	stat_fd = openat(dir_fd, "stat", O_RDONLY | O_CLOEXEC);
	err = stat_fd < 0 ? -errno : fd_read_all(stat_fd, STAT_BYTES_MAX, &text);
	if (err == 0)
		err = status_parse_start(text.data ? text.data : "", &ticks);
	if (err < 0)
		return err;
	if (ticks != process->start_ns / (NSEC_PER_SEC / ticks_a_second))
		return -ESRCH;
	living = status_has_ended(text.data) ? open_living_thread(process->pid, dir_fd) : -ESRCH;
	*fd = living >= 0 ? living : TAKE_FD(dir_fd);
	return 0;
}

int opener_root(const struct opener_process *process, int *fd)
{
	_cleanup_fd_ int dir_fd = -1;
	int root_fd, err = opener_process(process, &dir_fd);

	if (err < 0)
		return err;
	root_fd = openat(dir_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	*fd = root_fd;
	return 0;
}

int opener_above_cwd(
	const struct opener_process *process, int *fd, char *path, size_t path_size)
{
	_cleanup_fd_ int dir_fd = -1;
	_cleanup_fd_ int cwd_fd = -1;
	int above, err = opener_process(process, &dir_fd);

	if (err < 0)
		return err;
	cwd_fd = openat(dir_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	above = cwd_fd < 0 ? -1 : openat(cwd_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (above < 0)
		return -errno;
	read_link(cwd_fd, path, path_size);
	*fd = above;
	return 0;
}

int opener_program(const struct opener_process *process, char *name, size_t size)
{
	_cleanup_fd_ int dir_fd = -1;
	char path[PATH_MAX], *deleted;
	const char *slash;
	ssize_t len;
	int err = opener_process(process, &dir_fd);

	if (err < 0)
		return err;
	len = readlinkat(dir_fd, "exe", path, sizeof(path) - 1);
	if (len < 0)
		return -errno;
	path[len] = '\0';
	deleted = len > (ssize_t)strlen(DELETED) ? path + len - strlen(DELETED) : NULL;
	if (deleted && strcmp(deleted, DELETED) == 0)
		*deleted = '\0';
	slash = strrchr(path, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : path);
	return 0;
}

int opener_dir(const struct opener_process *process, const char *path, int *fd)
{
	_cleanup_fd_ int root_fd = -1;
	int dir_fd, err = opener_root(process, &root_fd);

	if (err < 0)
		return err;
	dir_fd = open_in_root(root_fd, path, O_PATH | O_DIRECTORY);
	if (dir_fd < 0)
		return dir_fd;
	*fd = dir_fd;
	return 0;
}

/* Without CAP_CHECKPOINT_RESTORE a link of map_files can be read but not followed: what has the
 * name now, in the process's root, is looked at instead. */
static int open_by_name(const struct opener_process *process, const char *link)
{
	_cleanup_fd_ int root_fd = -1;
	char path[PATH_MAX];
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	int err;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	err = opener_root(process, &root_fd);
	return err < 0 ? err : open_in_root(root_fd, path, O_PATH);
}

static int open_link(const struct opener_mapping *m, const char *link)
{
	_cleanup_fd_ int dir_fd = -1;
	int fd = open(link, O_PATH | O_CLOEXEC), err;

	/* No such process: Linux 6.18 says so of a main thread that has ended. */
	if (fd >= 0 || (errno != ENOENT && errno != ESRCH))
		return fd < 0 ? -errno : fd;
	err = opener_process(&m->process, &dir_fd);
	if (err < 0)
		return err;
	fd = openat(dir_fd, strstr(link, "map_files"), O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_mapping(const struct opener_mapping *m)
{
	char link[PATH_BYTES];
	int fd, err;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", m->process.pid,
		(unsigned long long)m->vm_start, (unsigned long long)m->vm_end);
	fd = open_link(m, link);
	if (fd != -EPERM)
		return fd;
	err = open_by_name(&m->process, link);
	return err == -ENOENT ? -EPERM : err;
}

int opener_mapped_file(const struct opener_mapping *m, int *fd, char *path, size_t path_size)
{
	_cleanup_fd_ int path_fd = open_mapping(m);
	struct stat st;
	int opened;

	if (path_fd < 0)
		return reason_of(path_fd);
	if (fstat(path_fd, &st) < 0)
		return reason_of(-errno);
	if (!S_ISREG(st.st_mode))
		return OBJECT_NOT_REGULAR;
	if (!is_same_file(path_fd, &st, m))
		return OBJECT_CHANGED;
	opened = reopen(path_fd);
	if (opened < 0)
		return reason_of(opened);
	read_link(path_fd, path, path_size);
	*fd = opened;
	return 0;
}

/* ---- files in them ----------------------------------------------------------------------------
 */

static int check_file(const struct stat *st, uint64_t bytes_max)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	return (uint64_t)st->st_size > bytes_max ? -EFBIG : 0;
}

/* Our capabilities would open it for a process that may not. */
static int check_access(const struct stat *st, uid_t uid)
{
	if (st->st_uid == 0)
		return st->st_mode & S_IROTH ? 0 : -EACCES;
	return st->st_uid == uid ? 0 : -EACCES;
}

static int open_file(int root_fd, const char *path, uint64_t flags, const uid_t *uid, int *fd)
{
	_cleanup_fd_ int path_fd = open_in_root(root_fd, path, O_PATH | flags);
	struct stat st;
	int opened, err;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) < 0)
		return -errno;
	err = check_file(&st, OPENER_FILE_BYTES_MAX);
	if (err == 0 && uid)
		err = check_access(&st, *uid);
	if (err < 0)
		return err;
	opened = reopen(path_fd);
	if (opened < 0)
		return opened;
	*fd = opened;
	return 0;
}

int opener_in_root(int root_fd, const char *path, int *fd)
{
	return open_file(root_fd, path, 0, NULL, fd);
}

int opener_for_user(int root_fd, const char *path, uid_t uid, int *fd)
{
	return open_file(root_fd, path, 0, &uid, fd);
}

int opener_itself(int root_fd, const char *path, uid_t uid, int *fd)
{
	return open_file(root_fd, path, O_NOFOLLOW, &uid, fd);
}

int opener_folder(int root_fd, const char *path, int *fd)
{
	int opened = open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY);

	if (opened < 0)
		return opened;
	*fd = opened;
	return 0;
}

/* CLOCK_REALTIME of a moment of CLOCK_BOOTTIME. */
static uint64_t boot_to_real_ns(uint64_t boot_ns)
{
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + boot_ns;
}

static int check_perf_map(const struct stat *st, const struct opener_process *process, uid_t uid)
{
	uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * NSEC_PER_SEC + st->st_mtim.tv_nsec;
	int err = check_file(st, OPENER_MAP_BYTES_MAX);

	if (err < 0)
		return err;
	if (st->st_uid != uid && st->st_uid != 0)
		return -EPERM;
	if (st->st_uid != uid && !(st->st_mode & S_IROTH))
		return -EACCES;
	if (written_ns + START_SLACK_NS < boot_to_real_ns(process->start_ns))
		return -ESTALE;
	return 0;
}

int opener_perf_map(
	int dir_fd, const struct opener_process *process, pid_t ns_pid, uid_t uid, int *fd)
{
	_cleanup_fd_ int path_fd = -1;
	char name[PATH_BYTES];
	struct stat st;
	int err, opened;

	snprintf(name, sizeof(name), "perf-%d.map", ns_pid);
	path_fd = open_in_root(dir_fd, name, O_PATH | O_NOFOLLOW);
	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) < 0)
		return -errno;
	err = check_perf_map(&st, process, uid);
	if (err < 0)
		return err;
	opened = reopen(path_fd);
	if (opened < 0)
		return opened;
	*fd = opened;
	return 0;
}

int opener_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return FILE_NOT_REGULAR;
	case -ELOOP:
	case -EXDEV:
		return FILE_LINK;
	case -EPERM:
		return FILE_OWNER;
	case -EACCES:
		return FILE_DENIED;
	case -ESTALE:
		return FILE_STALE;
	case -EFBIG:
		return FILE_TOO_LARGE;
	case -ETIMEDOUT:
		return FILE_HUNG;
	case -ETIME:
		return FILE_LATE;
	case -ENOENT:
	case -ENOTDIR:
	case -ESRCH:
		return -1;
	default:
		return FILE_OTHER;
	}
}
