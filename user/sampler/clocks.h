/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/clocks.h - one cpu-clock perf event an online CPU, each running one BPF program. All have
 * one rate, which can be changed while they run: ticks due are added up a rate. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_clock.h"
#include "base/err.h"
#include "bpf/abi.h"

struct clocks {
	int *fds;                /* by CPU; -1 where there is none */
	uint64_t *opened_ns;     /* by CPU: since when its event runs, CLOCK_MONOTONIC */
	uint64_t *run_ns;        /* by CPU: what a cgroup's event counted when last looked at */
	uint64_t *past_ns;       /* by CPU: of that, what was at another rate */
	uint64_t *seen_ticks;    /* by CPU: ticks when last looked at */
	struct cpu_ticks *ticks; /* by CPU, as BPF counts them */
	uint64_t *period_ns;     /* BPF's */
	int cpus_max;
	int prog_fd;
	int cgroup_fd; /* -1: all tasks */
	cpu_clock_fn open;
	void *open_ctx;
	uint32_t hz;
	bool running;
	uint64_t looked_at_ns, started_ns, stopped_ns; /* CLOCK_MONOTONIC */
	uint64_t stolen_start_ns; /* what the hypervisor had taken when this rate began */
	uint64_t closed_ns;       /* time of events that are closed, at this rate */
	uint64_t closed_skipped;  /* ticks that events left out at their end, or that of a rate */
	uint64_t past_due, past_stolen; /* ticks of former rates */
};

struct clocks_options {
	int prog_fd;       /* stays the caller's, as does cgroup_fd */
	int cgroup_fd;     /* -1: all tasks */
	cpu_clock_fn open; /* where we may not; NULL: nobody may */
	void *open_ctx;
	uint32_t hz;
	struct cpu_ticks *ticks; /* CPU_TICKS_MAX of them, shared with BPF, as is: */
	uint64_t *period_ns;     /* 0: stays so, ticks need not be regular */
};

/* The events are open and disabled. */
int clocks_open(struct clocks *clocks, const struct clocks_options *options, struct why *why);
void clocks_close(struct clocks *clocks);
int clocks_start(struct clocks *clocks);
void clocks_stop(struct clocks *clocks);
/* All of them, at once and from now on: a whole period passes before the next tick. -errno: a CPU's
 * clock could not be set and is closed; clocks_follow tries to open it again. */
int clocks_set_hz(struct clocks *clocks, uint32_t hz);
/* Opens and closes events so that each online CPU has one that runs; to be called a few times
 * a second. -errno of the first that failed. */
int clocks_follow(struct clocks *clocks);

struct clocks_time {
	uint64_t due;     /* ticks, of all events; of a cgroup's in the time that it ran */
	uint64_t skipped; /* never came; 0 for a cgroup's clocks, of which nobody knows */
	uint64_t stolen;  /* due while the hypervisor ran something else in place of our CPUs */
	uint64_t wall_ns; /* from start to stop, or to now */
	uint32_t cpus;    /* with an event now */
};

void clocks_read(const struct clocks *clocks, struct clocks_time *out);
