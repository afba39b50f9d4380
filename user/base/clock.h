/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h - time in nanoseconds. BPF's bpf_ktime_get_ns is CLOCK_MONOTONIC; process start
 * times are CLOCK_BOOTTIME, which continues during suspend. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define CLOCK_NEVER_NS UINT64_MAX /* a time at which nothing is due */

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* For poll(2): how long until then, rounded up; -1: CLOCK_NEVER_NS. */
static inline int clock_wait_ms(uint64_t now_ns, uint64_t until_ns)
{
	uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns - 1) / NSEC_PER_MSEC + 1 : 0;

	if (until_ns == CLOCK_NEVER_NS)
		return -1;
	return left_ms < INT32_MAX ? (int)left_ms : INT32_MAX;
}

/* CPU time of all threads of a process so far; 0: unknown, or no such process. */
static inline uint64_t clock_process_ns(pid_t pid)
{
	clockid_t clock;

	return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

/* The same for a process that ended, from wait4. */
static inline uint64_t clock_usage_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) *
		NSEC_PER_SEC +
		((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000;
}
