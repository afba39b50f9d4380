/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/target_options.h - what is sampled and how, in the option tables of all commands that sample:
 * the words are the same everywhere, as `top` hands them on to `record`. */
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
	OPT_OF_COMMAND, /* a command's own begin here */
};

/* clang-format off */
#define TARGET_ROWS \
	{ 'p', "pid", "PID[,PID...]", "these processes, all their threads" }, \
	{ 't', "tid", "TID[,TID...]", "these threads" }, \
	{ OPT_CGROUP, "cgroup", "PATH_OR_ID", \
		"one cgroup and those below it; the rest of the host pays nothing" }, \
	{ OPT_CONTAINER, "container", "NAME_OR_ID", \
		"one container, likewise; the beginning will do" }, \
	{ OPT_POD, "pod", "[NS/]NAME", "one pod, likewise" }, \
	{ OPT_UNIT, "unit", "NAME", "one systemd service, scope or slice, likewise" }, \
	{ 'F', "frequency", "HZ", "samples a second on each CPU; default 99" }

#define HALF_ROWS \
	{ OPT_USER, "user", NULL, "user stacks only" }, \
	{ OPT_KERNEL, "kernel", NULL, "kernel stacks only" }

#define MEMORY_ROW \
	{ OPT_MEMORY, "memory", "MB", "kernel memory for maps and unwind tables; default 32" }
/* clang-format on */
