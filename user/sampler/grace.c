/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/grace.c - membarrier(2) waits for an RCU grace period. The kernel refuses it if CPUs run
 * without timer tick (nohz_full). Then a fixed time is enough: a tick of ours takes microseconds,
 * the time is many thousand times longer. */
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
