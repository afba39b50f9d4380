/* SPDX-License-Identifier: Apache-2.0 */
/* proc/opener.h - the one place that opens files which belong to other processes.
 * Each is looked at before it is opened (O_PATH), and only regular files are: a FIFO, device or
 * socket cannot make us wait. Paths inside a process's root stay inside it. Nothing is read here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Which process: pid, and its start so that a reused pid is not taken for it. */
struct opener_process {
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME as BPF tells it */
};

/* Larger files are refused: nobody means them to be read. */
#define OPENER_FILE_BYTES_MAX (4ULL << 30)
#define OPENER_MAP_BYTES_MAX (1ULL << 30)

struct opener_mapping {
	struct opener_process process;
	uint64_t vm_start, vm_end;
	uint64_t ino;      /* what the file at the mapping must have */
	uint64_t mtime_ns; /* and when it was last written; 0: not known */
};

/* The file that is mapped there, read-only. *fd is the caller's; path gets what /proc says of it
 * ("" when it says nothing). 0, or the enum object_reason that tells why not (positive). */
int opener_mapped_file(const struct opener_mapping *mapping, int *fd, char *path, size_t path_size);

/* /proc/PID of this very process, as an O_PATH descriptor. -ESRCH: the pid is another process's by
 * now; with start_ns 0 that is not asked. */
int opener_process(const struct opener_process *process, int *fd);
/* Its root directory, likewise: outlives the process. */
int opener_root(const struct opener_process *process, int *fd);

/* A regular file inside a root, whatever links lead to it; read-only. -EINVAL: no regular one,
 * -ELOOP: links without end, -EFBIG. */
int opener_in_root(int root_fd, const char *path, int *fd);

/* A directory in the process's root, as an O_PATH descriptor: outlives the process. */
int opener_dir(const struct opener_process *process, const char *path, int *fd);

/* A perf map in such a directory: a regular file that belongs to the process's user or root, not
 * older than the process. 0, -ENOENT when there is none, -EPERM when it is somebody else's, -ESTALE
 * when older, -ELOOP: a link, -EINVAL: something else that is no regular file, -EFBIG. */
int opener_perf_map(
	int dir_fd, const struct opener_process *process, pid_t ns_pid, uid_t uid, int *fd);

/* The enum file_reason of an error of those above; -1: there is no such file, or process. */
int opener_reason(int err);
