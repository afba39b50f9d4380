/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_target.h - a process whose runtime stoker talks to, safe against reuse of its pid: its
 * root, its user, its pid in its own namespace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct buf;

struct jit_target {
	pid_t pid;
	pid_t ns_pid; /* in its own pid namespace */
	uid_t uid;    /* effective */
	gid_t gid;
	uint64_t start_ns;    /* CLOCK_BOOTTIME */
	uint64_t start_ticks; /* the same in the unit of /proc */
	bool catches_quit;    /* SIGQUIT would not kill it */
	int pidfd;
	int root_fd;
};

#define JIT_TARGET_INIT                     \
	{                                   \
		.pidfd = -1, .root_fd = -1, \
	}

/* -ESRCH: no such process; -EACCES: another user's, and we are not root. */
int jit_target_open(pid_t pid, struct jit_target *out, struct why *why);
void jit_target_close(struct jit_target *target);

bool jit_target_ended(const struct jit_target *target);
/* Appends /proc/PID/NAME and a NUL. -ESRCH: the process has ended. */
int jit_target_read(const struct jit_target *target, const char *name, struct buf *out);
/* Appends the variable's value at the start of the process. -ENOENT: not set. */
int jit_target_environ(const struct jit_target *target, const char *name, struct buf *out);
/* Opens a directory in the process's root; symbolic links cannot lead outside. */
int jit_target_open_dir(const struct jit_target *target, const char *path, int *fd);
/* Does it map a file (or memfd) whose name begins with start, for example "libjvm.so"? */
bool jit_target_maps(const struct jit_target *target, const char *start);
/* The executable's name without folders; "" if unknown. */
void jit_target_exe(const struct jit_target *target, char *name, size_t size);
