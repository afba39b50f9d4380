/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_files.h - where a process's JIT says what its code is called: the directories where its
 * perf map may be, and its jitdump. Descriptors outlive the process; nothing is read here. */
#pragma once

#include <stddef.h>

#include "proc/opener.h"

#define JIT_FILES_DIRS_MAX 3

struct jit_files_dirs {
	int fds[JIT_FILES_DIRS_MAX]; /* O_PATH, the likeliest first */
	size_t len;
};

/* What the process was started with counts: DOTNET_PerfMapJitDumpPath, then TMPDIR, then /tmp; in
 * its own root, and those that are there. */
void jit_files_open_dirs(const struct opener_process *process, struct jit_files_dirs *out);
void jit_files_close_dirs(struct jit_files_dirs *dirs);

/* The jitdump that it writes, which it shows by mapping a page of it executable: a regular file
 * called jit-NUMBER.dump, wherever it lies. 0; -ENOENT: there is none; -errno. */
int jit_files_open_dump(const struct opener_process *process, int *fd);
