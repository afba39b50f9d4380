/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu_clock.c - the event records nothing with a tick: a BPF program does that. */
#include "base/cpu_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int cpu_clock_open(const struct cpu_clock *clock, int *fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = clock->period_ns,
		.disabled = 1,
	};
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int pid = -1, opened;

	if (clock->period_ns < CPU_CLOCK_PERIOD_MIN_NS || clock->cpu < 0)
		return -EINVAL;
	if (clock->cgroup_fd >= 0) {
		flags |= PERF_FLAG_PID_CGROUP;
		pid = clock->cgroup_fd;
	}
	opened = (int)syscall(SYS_perf_event_open, &attr, pid, clock->cpu, -1, flags);
	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}
