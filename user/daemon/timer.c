/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/timer.c - CLOCK_MONOTONIC stops in a suspend, so a time of it comes too early by the
 * length of a suspend: the loop finds nothing due, and sets the timer again. */
#include "daemon/timer.h"

#include <errno.h>
#include <sys/timerfd.h>

#include "base/clock.h"

int timer_open(int *fd, struct why *why)
{
	*fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return *fd < 0 ? why_set(why, -errno, "cannot open a timer: %s", err_text(errno)) : 0;
}

void timer_set(int fd, uint64_t monotonic_ns, uint64_t boot_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), now_boot_ns = clock_ns(CLOCK_BOOTTIME);
	struct itimerspec at = { 0 };

	if (monotonic_ns != CLOCK_NEVER_NS)
		boot_ns = clock_sooner(
			boot_ns, now_boot_ns + (monotonic_ns > now_ns ? monotonic_ns - now_ns : 0));
	if (boot_ns != CLOCK_NEVER_NS) {
		/* 0 would disarm it. */
		boot_ns = boot_ns > 0 ? boot_ns : 1;
		at.it_value.tv_sec = (time_t)(boot_ns / NSEC_PER_SEC);
		at.it_value.tv_nsec = (long)(boot_ns % NSEC_PER_SEC);
	}
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}
