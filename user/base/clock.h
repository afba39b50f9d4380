/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h - time in nanoseconds. CLOCK_MONOTONIC is what BPF's bpf_ktime_get_ns reads;
 * CLOCK_BOOTTIME goes on through suspend and is what process start times are told in. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* What a process has used of CPUs so far, all its threads; 0: there is none, or no such process. */
static inline uint64_t clock_process_ns(pid_t pid)
{
	clockid_t clock;

	return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

/* The same, as wait4 tells it of one that has ended. */
static inline uint64_t clock_usage_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) *
		NSEC_PER_SEC +
		((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000;
}
