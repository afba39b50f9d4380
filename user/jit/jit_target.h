/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_target.h - a process whose runtime is to be talked to, held so that a reused pid cannot
 * be taken for it: its root, its user, its pid as it knows it. */
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
	uint64_t start_ticks; /* the same as /proc says it */
	bool catches_quit;    /* SIGQUIT would not end it */
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

/* Appends /proc/PID/NAME and a NUL. -ESRCH when the process is gone by now. */
int jit_target_read(const struct jit_target *target, const char *name, struct buf *out);
/* Appends the value that the variable had when the process began. -ENOENT when it had none. */
int jit_target_environ(const struct jit_target *target, const char *name, struct buf *out);
/* A directory in the process's root, from which no symbolic link leads out. */
int jit_target_open_dir(const struct jit_target *target, const char *path, int *fd);
/* Is there a mapping of a file (or memfd) whose name begins like this, "libjvm.so" for one? */
bool jit_target_maps(const struct jit_target *target, const char *start);
/* The name of the executable, without its folders; "" when it cannot be told. */
void jit_target_exe(const struct jit_target *target, char *name, size_t size);
/* Is the variable set to a number other than 0? */
bool jit_target_is_set(const struct jit_target *target, const char *name);
