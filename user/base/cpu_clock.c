/* SPDX-License-Identifier: Apache-2.0 */
/* base/cpu_clock.c - the event records nothing with a tick: a BPF program does that. */
#include "base/cpu_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAKEUP_PART 2 /* of a ring of one page: when that much waits, its reader is woken */

static struct perf_event_attr attr_of(const struct cpu_clock *clock)
{
	if (clock->code)
		return (struct perf_event_attr){
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_DUMMY,
			.size = sizeof(struct perf_event_attr),
			.sample_type = PERF_SAMPLE_TIME,
			.sample_id_all = 1,
			.ksymbol = 1,
			.exclude_user = 1,
			.use_clockid = 1,
			.clockid = CLOCK_MONOTONIC,
			.watermark = 1,
			.wakeup_watermark = (uint32_t)sysconf(_SC_PAGESIZE) / WAKEUP_PART,
		};
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(struct perf_event_attr),
		.sample_period = clock->period_ns,
		.disabled = 1,
	};
}

int cpu_clock_open(const struct cpu_clock *clock, int *fd)
{
	struct perf_event_attr attr = attr_of(clock);
	bool valid = clock->code ? clock->period_ns == 0 && clock->cgroup_fd < 0
				 : clock->period_ns >= CPU_CLOCK_PERIOD_MIN_NS;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	int pid = -1, opened;

	if (!valid || clock->cpu < 0)
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
