/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/timer.h - one timer for a loop, as a descriptor (timerfd_create(2)). It counts the time of
 * a suspend, which a wait with a limit does not. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The caller's descriptor, which is not armed. -errno with why. */
int timer_open(int *fd, struct why *why);
/* Makes it readable at the sooner of two times, of CLOCK_MONOTONIC and of CLOCK_BOOTTIME, and no
 * longer readable for any earlier one. CLOCK_NEVER_NS: not for this one. */
void timer_set(int fd, uint64_t monotonic_ns, uint64_t boot_ns);
