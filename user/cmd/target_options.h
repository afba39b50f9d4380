/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/target_options.h - options for the target and the frequency, in the tables of all commands
 * that sample: `top` passes them on to `record` unchanged. */
#pragma once

#include "cmd/options.h"

enum target_option {
	OPT_CGROUP = 256,
	OPT_CONTAINER,
	OPT_POD,
	OPT_UNIT,
	OPT_USER,
	OPT_KERNEL,
	OPT_MEMORY,
	OPT_TICK_LIMIT,
	OPT_NATIVE_FRAMES,
	OPT_OF_COMMAND, /* a command's own options begin here */
};

/* clang-format off */
#define TARGET_ROWS \
	{ 'p', "pid", "PID[,PID...]", "these processes with all their threads" }, \
	{ 't', "tid", "TID[,TID...]", "these threads" }, \
	{ OPT_CGROUP, "cgroup", "PATH_OR_ID", \
		"one cgroup and those below it; no overhead for others where perf attaches" }, \
	{ OPT_CONTAINER, "container", "NAME_OR_ID", \
		"one container; the beginning of its name or id is enough" }, \
	{ OPT_POD, "pod", "[NS/]NAME", "one pod" }, \
	{ OPT_UNIT, "unit", "NAME", "one systemd service, scope or slice" }, \
	{ 'F', "frequency", "HZ", "frequency in Hz on each CPU; default 99" }

#define HALF_ROWS \
	{ OPT_USER, "user", NULL, "only user stacks" }, \
	{ OPT_KERNEL, "kernel", NULL, "only kernel stacks" }

#define MEMORY_ROW \
	{ OPT_MEMORY, "memory", "MB", "kernel memory for maps and unwind tables; default 32" }

#define TICK_LIMIT_ROW \
	{ OPT_TICK_LIMIT, "tick-limit", "US", \
		"microseconds that one tick may take; default 300, or a\n" \
		"quarter of the period if that is less" }

#define NATIVE_ROW \
	{ OPT_NATIVE_FRAMES, "native-frames", "hide|show", \
		"the interpreter's own frames in stacks of its language;\ndefault hide" }
/* clang-format on */
