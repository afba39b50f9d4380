/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_control.h - perf maps of a runtime that runs already: .NET 8 and later through its
 * diagnostics socket, HotSpot 17 and later through its attach mechanism. Nothing is restarted, and
 * what was turned on is turned off and cleared away again. jit_control_open -> jit_control_enable
 * -> (jit_control_refresh) -> jit_control_disable -> _close A .NET runtime writes each method as it
 * compiles it; a JVM writes all it has, once, when asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/dotnet_ipc.h"
#include "jit/jit_target.h"

enum jit_control_runtime {
	JIT_CONTROL_DOTNET = 1,
	JIT_CONTROL_JVM,
};

enum jit_control_file {
	JIT_CONTROL_PERF_MAP,  /* perf-PID.map */
	JIT_CONTROL_PERF_INFO, /* perfinfo-PID.map, a list of images that .NET writes beside it */
	JIT_CONTROL_JITDUMP,   /* jit-PID.dump */
	JIT_CONTROL_FILES,
};

struct jit_control {
	struct jit_target target;
	enum jit_control_runtime runtime;
	bool was_on; /* the program was started so: nothing to turn on, and nothing is turned off */
	bool had[JIT_CONTROL_FILES];       /* files that were there before enable: they are left */
	bool had_socket;                   /* the JVM's, at which it is attached to: likewise */
	int dir_fd;                        /* where the runtime writes them, in its own root */
	char dir[256];                     /* the same as the runtime says it */
	char version[DOTNET_IPC_TEXT_MAX]; /* "" until it is known */
	char note[WHY_MAX];                /* what the user should know or do; "" nothing */
};

struct jit_control_state {
	uint64_t size_bytes;
	uint64_t age_s; /* since it was last written */
	bool is_stale;  /* another process of the same number wrote it, before this one began */
};

/* Which runtime it is, without touching it. -ENOTSUP: none of the two, why says what its runtime
 * needs at its start instead. Else as jit_target_open(). On success *out is to be closed. */
int jit_control_open(pid_t pid, struct jit_control *out, struct why *why);
void jit_control_close(struct jit_control *control);

/* Has the runtime write its files; the names of all that is compiled by now are there on return.
 * files counts for .NET alone. version and note are filled in. Errors as of dotnet_ipc_enable() and
 * jvm_attach_command(). */
int jit_control_enable(struct jit_control *control, enum dotnet_ipc_files files, struct why *why);
/* Before the names are read: a JVM writes its map anew. */
int jit_control_refresh(struct jit_control *control, struct why *why);
/* Turns it off and removes the files that it caused: those that belong to the runtime's user, began
 * with this process and were not there before enable. Returns how many in *removed. The socket that
 * a JVM made to be attached to goes too: it makes another one when it is attached to again. */
int jit_control_disable(struct jit_control *control, unsigned int *removed, struct why *why);

/* What can be learnt without turning anything on: version and note. A JVM that was never attached
 * to is not asked, since that would take a signal. */
void jit_control_look(struct jit_control *control);
/* The file as it is now; -ENOENT. name gets its name in dir. */
int jit_control_file(const struct jit_control *control, enum jit_control_file file, char *name,
	size_t name_size, struct jit_control_state *out);
