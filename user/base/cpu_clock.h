/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu_clock.h - the kernel's cpu-clock as an event (perf_event_open(2)): whoever may open one
 * can hand it to whoever is to use it. */
#pragma once

#include <stdint.h>

#define CPU_CLOCK_PERIOD_MIN_NS 100000

struct cpu_clock {
	uint64_t period_ns; /* CPU_CLOCK_PERIOD_MIN_NS at least */
	int cpu;
	int cgroup_fd; /* its folder, of the tasks below which it is to be; -1: of all */
};

/* Disabled. *fd is the caller's. -EACCES: only others may; -ENODEV: the CPU is offline; other
 * -errno. */
int cpu_clock_open(const struct cpu_clock *clock, int *fd);
/* The same, by somebody else. */
typedef int (*cpu_clock_fn)(void *ctx, const struct cpu_clock *clock, int *fd);
