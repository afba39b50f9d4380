/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_idle.h - lines of idle time between the samples of a CPU.
 * PerfView weighs a sample by the time to the next one of its CPU, and leaves out the last one of
 * each (LinuxPerfScriptStackSource.cs). So the sample before a gap weighs the gap too, unless a
 * line of `swapper` begins where the sample's own period is over. With these lines the samples of a
 * CPU weigh their periods in sum, to the nanosecond, as soon as a gap follows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"

#define PERF_IDLE_CPUS_MAX 65536  /* further CPUs get no lines */
#define PERF_IDLE_TICKS_MAX 65536 /* waiting ticks; more are written as if no gap followed */

struct perf_idle_cpu {
	uint32_t number;
	bool open;       /* the last written line is a sample */
	uint64_t due_ns; /* open: where the time ends that its samples stand for */
	int64_t owed_ns; /* not open: time that its samples weigh too little */
	uint64_t last;   /* the number of its latest sample, in perf_idle.taken */
};

struct perf_idle_tick {
	uint64_t time_ns, next_ns; /* next_ns: of its CPU; 0: none yet */
	uint64_t period_ns;
	size_t len;   /* of its text */
	uint32_t cpu; /* index in cpus; UINT32_MAX: none */
};

struct perf_idle_end {
	uint64_t time_ns;
	uint32_t cpu; /* number of the CPU */
};

/* Zeroed: valid and empty. */
struct perf_idle {
	VEC(struct perf_idle_cpu) cpus;
	struct hash by_number;            /* index in cpus */
	VEC(struct perf_idle_tick) ticks; /* waiting ticks, by time */
	size_t first;                     /* of ticks: those before it are written */
	uint64_t taken;                   /* ticks that ever came */
	struct buf text;                  /* of ticks */
	size_t text_at, text_known;       /* from the first waiting tick to the end of the last */
	VEC(struct perf_idle_end) ends;   /* waiting ends, by time */
};

void perf_idle_done(struct perf_idle *idle);
/* Takes a sample whose text is what was put into idle->text since the last call, and writes what it
 * need not wait for any more to out: samples and lines of swapper, by time. Samples come by time.
 * Errors are out's. */
void perf_idle_put(struct perf_idle *idle, uint64_t time_ns, uint64_t period_ns, uint32_t cpu,
	struct buf *out);
/* Writes all that waits. */
void perf_idle_end(struct perf_idle *idle, struct buf *out);
