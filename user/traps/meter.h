/* SPDX-License-Identifier: Apache-2.0 */
/* traps/meter.h - measures one number of a container or the host, as a share of the time between
 * two readings. It reads only the kernel's own files, which no process can write.
 *   cpu        of one core: cpuacct.usage or cpu.stat; /proc/stat
 *   pressure   some task waited for a CPU: cpu.pressure; /proc/pressure/cpu
 *   throttled  of the time, all CPUs together: cpu.stat
 *   wait       tasks waited for a CPU, all together: /proc/TID/schedstat of the first
 *              METER_THREADS_MAX threads in a container's own cgroup; /proc/schedstat */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "traps/rule.h"

#define METER_THREADS_MAX 128

/* Mount points of cgroups, "" if not mounted, relative to a process's root
 * (containers/cgroup_view.h). */
struct meter_mounts {
	const char *viewer;
	char v2[256], cpu[256], cpuacct[256];
};

int meter_mounts_find(struct meter_mounts *out);

struct meter {
	const struct meter_source *source;
	int fd;
	uint64_t sum_ns, at_ns; /* at the latest reading; CLOCK_MONOTONIC */
	struct hash delays;     /* thread → its waiting time at that reading */
};

#define METER_INIT        \
	{                 \
		.fd = -1, \
	}

/* Opens a meter and makes the first reading. path: the container's cgroup, from the hierarchy's
 * root; NULL: the host. -ENOENT, with why: this kernel does not provide the metric for it. */
int meter_open(struct meter *meter, const struct meter_mounts *mounts, enum rule_metric metric,
	const char *path, uint64_t now_ns, struct why *why);
/* The value since the latest reading, in thousandths. -errno: it was removed. */
int meter_read(struct meter *meter, uint64_t now_ns, uint64_t *permille);
void meter_close(struct meter *meter);
/* Has this cgroup, or one below it, a process? True if neither hierarchy shows it. */
bool meter_has_tasks(const struct meter_mounts *mounts, const char *path);
