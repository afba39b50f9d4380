/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/clocks.h - one cpu-clock perf event on each online CPU, each running one BPF program. All
 * have one rate, which can change while they run: due ticks are summed over the rates. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_clock.h"
#include "base/err.h"
#include "bpf/abi.h"

struct clocks {
	int *fds;                /* by CPU; -1: none */
	uint64_t *run_ns;        /* by CPU: a cgroup event's count at the latest check */
	uint64_t *past_ns;       /* by CPU: the part of it at earlier rates */
	uint64_t *seen_ticks;    /* by CPU: ticks at the latest check */
	uint32_t *opened;        /* by CPU: number of events that it has had */
	uint64_t opened_sum;     /* of all CPUs */
	struct cpu_ticks *ticks; /* by CPU: BPF's counters */
	uint64_t *period_ns;     /* BPF's variable */
	int cpus_max;
	int prog_fd;
	int cgroup_fd; /* -1: all tasks */
	cpu_clock_fn open;
	void *open_ctx;
	uint32_t hz;
	bool running, unwatched;
	uint64_t looked_at_ns, started_ns, stopped_ns; /* CLOCK_MONOTONIC */
	uint64_t check_ns;        /* of the next check; CLOCK_NEVER_NS: none until a CPU changes */
	uint64_t stolen_start_ns; /* the hypervisor's stolen time at the start of this rate */
	uint64_t closed_skipped;  /* missing ticks at the end of events and rates */
	uint64_t past_due;        /* as of clocks_time.due: of closed events and of earlier rates */
	uint64_t past_stolen;     /* ticks at earlier rates */
};

struct clocks_options {
	int prog_fd;       /* the caller owns it, and cgroup_fd */
	int cgroup_fd;     /* -1: all tasks */
	cpu_clock_fn open; /* used if we lack the privilege; NULL: none */
	void *open_ctx;
	uint32_t hz;
	struct cpu_ticks *ticks; /* CPU_TICKS_MAX of them, shared with BPF, like: */
	uint64_t *period_ns;     /* stays 0 if ticks need not be regular */
	bool unwatched;          /* nobody reports that a CPU comes or goes: it is looked for */
};

/* Opens one more event, by clocks->open if we lack the privilege. 0 or -errno. */
int clocks_event(const struct clocks *clocks, const struct cpu_clock *clock, int *fd);
/* Opens the events, disabled. */
int clocks_open(struct clocks *clocks, const struct clocks_options *options, struct why *why);
void clocks_close(struct clocks *clocks);
int clocks_start(struct clocks *clocks);
void clocks_stop(struct clocks *clocks);
/* Changes the rate of all clocks: a whole period passes before the next tick. -errno: a CPU's clock
 * could not be set and is closed; clocks_follow tries to open it again. */
int clocks_set_hz(struct clocks *clocks, uint32_t hz);
/* Opens and closes events so that each online CPU has a running one; call it when a CPU may have
 * come or gone (changed), and at check_ns. -errno of the first failure. */
int clocks_follow(struct clocks *clocks, bool changed);

struct clocks_time {
	uint64_t due;     /* of a cgroup's clocks, in its running time; else 0 */
	uint64_t skipped; /* missing ticks; 0 for a cgroup's clocks, where they are unknown */
	uint64_t stolen;  /* due while the hypervisor ran something else instead of our CPUs */
	uint64_t wall_ns; /* from start to stop, or until now */
	uint32_t cpus;    /* number with an event now */
};

void clocks_read(const struct clocks *clocks, struct clocks_time *out);
/* Returns when all ticks that began before the call have ended. */
void clocks_wait_for_ticks(const struct clocks *clocks);
