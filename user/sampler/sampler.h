/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/sampler.h - the BPF program, its clock events and its maps. sampler_poll hands over what
 * BPF sends once (objects, tasks, stacks), sampler_drain the counts, each sample exactly once.
 * Counts and ticks go into the tally, the rest to the callbacks. Nothing is named here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "base/cpu_clock.h"
#include "base/err.h"
#include "sampler/events.h"

#define SAMPLER_OBJECTS_MAX 8192 /* mapped files that BPF knows at a time */

enum sampler_target {
	SAMPLER_ALL,
	SAMPLER_TGIDS,
	SAMPLER_TREE, /* processes and all that descends from them */
	SAMPLER_TIDS,
	SAMPLER_CGROUP, /* one cgroup and what is below it */
};

struct publish;

struct sampler_options {
	uint32_t hz;
	uint32_t hz_max; /* that sampler_set_hz may be told; 0: hz */
	enum sampler_target target;
	const uint32_t *ids; /* of the targets */
	size_t ids_len;
	/* SAMPLER_CGROUP: the folder to which perf events are bound, so that others' ticks never
	 * run the program; not consumed. -1: there is none, and BPF tells them apart by these: */
	int cgroup_fd;
	const uint64_t *cgroups; /* the cgroup and all below it, as they are now */
	size_t cgroups_len;
	const struct cgroup_v1 *v1; /* hierarchies to ask, CGROUP_V1_MAX at most */
	size_t v1_len;
	uint32_t v1_live;       /* by bit: that one has cgroups now */
	uint32_t pid_namespace; /* in whose numbers pids are told; 0: the host's */
	bool by_tid, by_cpu;    /* keep them apart */
	bool times; /* tell each tick, and when it was; else they are counted in the kernel */
	bool user, kernel;
	uint64_t memory_bytes;   /* for all BPF maps; what is left of it holds tables */
	cpu_clock_fn open_clock; /* where we may not; NULL: nobody may */
};

struct sampler_stats {
	/* Ticks due in the time that the clocks ran, less those filtered:
	 * expected = samples + idle + lost + skipped, each counted by itself. */
	uint64_t expected;
	uint64_t samples, idle;
	uint64_t filtered; /* fell on what was not asked for */
	/* Never came: a virtual CPU was not run, interrupts were off for too long, another BPF
	 * program was interrupted. A cgroup's: what is left of expected. */
	uint64_t skipped;
	uint64_t stolen; /* so many were due while the hypervisor ran something else */
	uint64_t lost[LOST_REASONS_LEN];
	uint64_t events_lost[EVENT_KINDS_MAX]; /* by enum event_kind; no part of expected */
	uint64_t targets_lost[TARGET_LOSSES_LEN];
	uint64_t runs, run_ns; /* run_ns: 0 without kernel.bpf_stats_enabled */
	uint64_t bytes_out;    /* ring buffer and drained counts */
	uint64_t memory_bytes; /* of all maps */
	uint32_t cpus;         /* with an event now */
	double running_s;      /* from start to stop */
};

struct sampler;

/* Loads the program and opens the events, disabled. ctx is the callbacks'; the tally must outlive
 * the sampler. */
int sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
void sampler_free(struct sampler *sampler);

int sampler_start(struct sampler *sampler, struct why *why);
int sampler_set_hz(struct sampler *sampler, uint32_t hz); /* from now on */
/* No tick runs the program after this. */
void sampler_stop(struct sampler *sampler);

/* Walks the mappings of code of one process, or of all (tgid 0): each file gets its object, told by
 * the callback as any other, and each mapping goes to take, unless that is NULL. */
int sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx);
/* Where tables go. Lives as long as the sampler. */
struct publish *sampler_publish(struct sampler *sampler);
/* About once a second: by these the use of files and tables is measured. The one that begins. */
uint32_t sampler_next_second(struct sampler *sampler);

/* Readable when sampler_poll has something to do. */
int sampler_fd(const struct sampler *sampler);
int sampler_poll(struct sampler *sampler);
/* True when a drain should not wait: a count map is half full. */
bool sampler_pressed(const struct sampler *sampler);
/* Turns to the other count map and moves what the first one holds into the tally. last: no tick
 * comes after this, so ticks that wait for their key are lost. */
int sampler_drain(struct sampler *sampler, bool last);
/* A deferred sample was finished, and the tally had no room for it. */
void sampler_lost_ticks(struct sampler *sampler, uint64_t ticks);
/* Lets BPF forget a stack or task that user space is about to forget. */
void sampler_forget_stack(struct sampler *sampler, uint64_t hash);
void sampler_forget_who(struct sampler *sampler, const struct who_key *key);
/* Follows CPUs that came or went. */
int sampler_follow_cpus(struct sampler *sampler);
void sampler_stats(struct sampler *sampler, struct sampler_stats *out);
