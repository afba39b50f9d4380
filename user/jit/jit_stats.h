/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_stats.h - runtimes that were asked to write perf maps, for the account. */
#pragma once

#include <stdint.h>

/* Sums since the start, but for the first. */
struct jit_stats {
	uint64_t on;       /* now: processes that were switched on and live */
	uint64_t asked;    /* processes */
	uint64_t failed;   /* of these: no such runtime, or it refused */
	uint64_t hung;     /* of these: it did not answer in time */
	uint64_t limited;  /* not asked: the share of the account, or a limit */
	uint64_t unnoted;  /* not asked: no note could be written */
	uint64_t left;     /* of a stoker that was killed: undone now */
};
