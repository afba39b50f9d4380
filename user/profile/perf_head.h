/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_head.h - the first line of a sample in perf text:
 *     COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT:
 * PID or /TID, [CPU] and PERIOD may be missing. Without the time, EVENT: must end the line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

struct perf_head {
	struct bytes comm;
	uint64_t pid, tid, cpu, time_ns;
	uint64_t period;     /* in the event's own unit; 0: none */
	uint64_t period_ns;  /* 0: none, or not in time */
	struct bytes event;  /* without its last colon; empty: none */
	struct bytes frame; /* after the event, on the same line; empty in texts with stacks */
	bool has_cpu, has_time;
	/* It has the shape that perf gives all heads, which no frame has: a comm of the kernel's
	 * length, then nothing but the columns above. */
	bool is_whole;
};

/* False: the line is no head, and *head is undefined. */
bool perf_head_read(struct bytes line, struct perf_head *head);
/* 12.345678 */
bool perf_head_seconds(struct bytes word, uint64_t *ns);
