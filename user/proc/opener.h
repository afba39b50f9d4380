/* SPDX-License-Identifier: Apache-2.0 */
/* proc/opener.h - opens what a worker reads of other processes: mapped files, debug files, perf
 * maps and files of runtimes; and the memory that `record --check` copies. A file is checked before
 * it is opened (O_PATH), and only regular files are opened: a FIFO, device or socket cannot make
 * stoker wait. Paths inside a process's root stay inside it. Nothing is read here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A process: its pid, and its start time, so that a reused pid is noticed. */
struct opener_process {
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME, as from BPF */
};

/* Limits of size; larger files are refused. */
#define OPENER_FILE_BYTES_MAX (4ULL << 30)
#define OPENER_MAP_BYTES_MAX (1ULL << 30)

/* A file that was opened. */
struct opener_found {
	int fd; /* the finder's */
	dev_t dev;
	ino_t ino;
	uid_t uid;
};

struct opener_mapping {
	struct opener_process process;
	uint64_t vm_start, vm_end;
	uint64_t ino;      /* inode number that the mapped file must have */
	uint64_t mtime_ns; /* required modification time; 0: unknown */
};

/* Opens the mapped file read-only. *fd is the caller's; path gets its path in /proc ("" if
 * unknown). 0, or the positive enum object_reason of the failure. */
int opener_mapped_file(const struct opener_mapping *mapping, int *fd, char *path, size_t path_size);

/* /proc/PID as an O_PATH descriptor; if its main thread ended, that of a thread that lives. -ESRCH:
 * the pid is another process by now. Neither is looked at if start_ns is 0. */
int opener_process(const struct opener_process *process, int *fd);
/* Its root directory as an O_PATH descriptor, which stays usable after the process ends. */
int opener_root(const struct opener_process *process, int *fd);

/* Opens a regular file inside a root read-only and follows links. -EINVAL: not a regular file;
 * -ELOOP: a loop of links; -EFBIG. */
int opener_in_root(int root_fd, const char *path, int *fd);

/* The same by a path that a user, the owner of another file, chose: only files of root that
 * everybody may read, or files of uid, who is not root. -EACCES: it is another one. */
int opener_for_user(int root_fd, const char *path, uid_t uid, int *fd);
/* The same, but the last part of the path must not be a link (-ELOOP): a folder with a link to a
 * file may be another user's than the file's own folder. */
int opener_itself(int root_fd, const char *path, uid_t uid, int *fd);

/* Opens a directory inside a root for reading; links stay inside it. */
int opener_folder(int root_fd, const char *path, int *fd);

/* The folder above its working folder as an O_PATH descriptor; path gets the working folder's. */
int opener_above_cwd(
	const struct opener_process *process, int *fd, char *path, size_t path_size);

/* The last part of its program's path, cut to size; its threads may have any names.
 * -ENOENT: the process has ended, or is a kernel thread. */
int opener_program(const struct opener_process *process, char *name, size_t size);

/* A directory in the process's root as an O_PATH descriptor, which stays usable after the process
 * ends. */
int opener_dir(const struct opener_process *process, const char *path, int *fd);

/* Opens a perf map in a directory: a regular file of the process's user or root, not older than the
 * process. 0; -ENOENT: none; -EPERM: another owner; -ESTALE: older; -ELOOP: a link; -EINVAL:
 * another kind of file; -EFBIG. */
int opener_perf_map(
	int dir_fd, const struct opener_process *process, pid_t ns_pid, uid_t uid, int *fd);

/* The enum file_reason of an error of the functions above; -1: no such file or process. */
int opener_reason(int err);
