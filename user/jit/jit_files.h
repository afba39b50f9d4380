/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_files.h - the places of a process's JIT names: the directories of its perf map, and its
 * jitdump. Descriptors stay usable after the process ends; none of these files is read here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proc/opener.h"

#define JIT_FILES_DIRS_MAX 3

struct buf;

/* How files are read and opened: by whoever may wait for them. */
struct jit_files_access {
	void *ctx;
	/* Appends the text of a file of /proc/PID. */
	int (*read)(void *ctx, const struct opener_process *process, const char *name,
		size_t size_max, struct buf *out);
	/* As opener_dir. */
	int (*dir)(void *ctx, const struct opener_process *process, const char *path, int *fd);
};

/* Is this the error of a call to which nobody had the time to answer? */
bool jit_files_unanswered(int err);

/* By this process. */
extern const struct jit_files_access jit_files_direct;

struct jit_files_dirs {
	int fds[JIT_FILES_DIRS_MAX]; /* O_PATH, most likely first */
	size_t len;
};

/* The existing ones of these, in the process's root, by the environment of its start:
 * DOTNET_PerfMapJitDumpPath, TMPDIR, /tmp. False: not all that was asked was answered
 * (jit_files_unanswered); later there may be more. */
bool jit_files_open_dirs(const struct jit_files_access *access,
	const struct opener_process *process, struct jit_files_dirs *out);
void jit_files_close_dirs(struct jit_files_dirs *dirs);

/* The process's jitdump, by this process (wire/mappings.h). 0; -ENOENT: none; -errno. */
int jit_files_open_dump(
	const struct opener_process *process, struct opener_found *found, pid_t *number);
