/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_control.h - turns on perf maps of a running runtime: .NET 8 and later through its
 * diagnostics socket, HotSpot 17 and later through its attach mechanism. Nothing is restarted.
 * Everything that was turned on is turned off again, and its files are removed. Order of calls:
 * jit_control_open, jit_control_prepare, jit_control_enable, (jit_control_refresh),
 * jit_control_disable, jit_control_close. A .NET runtime writes each method as it compiles it; a
 * JVM writes all methods once on request. */
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
	bool was_on; /* perf maps were on from the start: nothing is turned on or off */
	bool had[JIT_CONTROL_FILES];       /* files that existed before enable: they are kept */
	bool had_socket;                   /* the JVM's attach socket existed before: it is kept */
	int dir_fd;                        /* folder of the files, in the runtime's own root */
	char dir[256];                     /* the same path as the runtime names it */
	char version[DOTNET_IPC_TEXT_MAX]; /* "" until known */
	char note[WHY_MAX];                /* advice for the user; "": none */
	/* The files of a process that has ended (jit/jit_left.h) were made between these
	 * (CLOCK_REALTIME). until_ns 0: since it started. */
	uint64_t since_ns, until_ns;
};

struct jit_control_state {
	uint64_t size_bytes;
	uint64_t age_s; /* since its last change */
	bool is_stale;  /* an earlier process with the same pid wrote it */
};

/* How a runtime whose program has this name comes to write a map: "start it with OPTION", or that
 * it needs none. NULL: the program is not known. */
const char *jit_control_hint(const char *exe);
/* Identifies the runtime without touching it. -ENOTSUP: another runtime, why names the option that
 * it needs at its start. Else as jit_target_open(). The caller closes *out. */
int jit_control_open(pid_t pid, struct jit_control *out, struct why *why);
void jit_control_close(struct jit_control *control);

/* Notes which files exist, before anything is turned on. */
void jit_control_prepare(struct jit_control *control);
/* Makes the runtime write its files; on return they have the names of all code compiled so far.
 * files is for .NET only. Sets version and note. Errors as of dotnet_ipc_enable() and
 * jvm_attach_command(). */
int jit_control_enable(struct jit_control *control, enum dotnet_ipc_files files, struct why *why);
/* Call it before names are read: a JVM rewrites its map. */
int jit_control_refresh(struct jit_control *control, struct why *why);
/* Turns perf maps off and removes the files that resulted: files of the runtime's user, younger
 * than the process, that did not exist before enable. *removed is their number. The JVM's attach
 * socket is removed too; a JVM makes a new one on the next attach. */
int jit_control_disable(struct jit_control *control, unsigned int *removed, struct why *why);

/* The last step of jit_control_disable alone. Returns the number of files. */
unsigned int jit_control_remove(const struct jit_control *control);
/* Does the process have its perf map open? Then somebody else has turned it on. */
bool jit_control_is_writing(const struct jit_control *control);

/* Sets version and note without turning anything on. A JVM that was never attached to is not asked,
 * because that needs a signal. */
void jit_control_look(struct jit_control *control);
/* The file's current state; -ENOENT. name gets its name in dir. */
int jit_control_file(const struct jit_control *control, enum jit_control_file file, char *name,
	size_t name_size, struct jit_control_state *out);
