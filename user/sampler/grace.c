/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/grace.c - membarrier(2) waits for an RCU grace period. Where CPUs run without a timer
 * tick (nohz_full) the kernel refuses it; a tick of ours takes microseconds, and a fixed time that
 * is many thousand times as long does as well. */
#include "sampler/grace.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FALLBACK_NS (100 * NSEC_PER_MSEC)

void grace_wait(void)
{
	struct timespec fallback = { .tv_nsec = FALLBACK_NS };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
		nanosleep(&fallback, NULL);
}
