/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu_clock.h - the kernel's cpu-clock as an event (perf_event_open(2)), and the event that
 * reports changes of kernel code: a privileged process can open them and pass them to another. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CPU_CLOCK_HZ_MAX 10000
#define CPU_CLOCK_PERIOD_MIN_NS (1000000000 / CPU_CLOCK_HZ_MAX)

struct cpu_clock {
	uint64_t period_ns; /* at least CPU_CLOCK_PERIOD_MIN_NS; 0 with code */
	int cpu;
	int cgroup_fd; /* folder of the cgroup whose tasks to count; -1: all tasks, as with code */
	bool code;     /* no ticks, but records PERF_RECORD_KSYMBOL, with CLOCK_MONOTONIC */
};

/* Opens it, a clock disabled. *fd is the caller's. -EACCES: not permitted; -ENODEV: the CPU is
 * offline; other -errno. */
int cpu_clock_open(const struct cpu_clock *clock, int *fd);
/* The same, done by another process. */
typedef int (*cpu_clock_fn)(void *ctx, const struct cpu_clock *clock, int *fd);
