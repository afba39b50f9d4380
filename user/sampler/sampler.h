/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/sampler.h - the BPF program, its clock events and its maps, as callbacks. sampler_poll
 * delivers objects, tasks and stacks, once each; sampler_drain moves the counts into the tally. */
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
#include "sampler/scan.h"
#include "sampler/tick_counts.h"

#define SAMPLER_OBJECTS_MAX 8192 /* limit of mapped files in BPF */

enum sampler_target {
	SAMPLER_ALL,
	SAMPLER_TGIDS,
	SAMPLER_TREE, /* processes and all their descendants */
	SAMPLER_TIDS,
	SAMPLER_CGROUP, /* one cgroup and those below it */
};

struct publish;

/* Limits of sampler_options.memory_bytes: with less there is no room beside the fixed maps. */
#define SAMPLER_MEMORY_MB_MIN 16
#define SAMPLER_MEMORY_MB_MAX 4096
#define SAMPLER_TICK_LIMIT_US_MAX 1000000 /* of tick_limit_ns */

struct sampler_options {
	uint32_t hz;
	uint32_t hz_max;        /* limit for sampler_set_hz; 0: hz */
	uint64_t tick_limit_ns; /* 0: 300 us, or a quarter of the period if that is less */
	enum sampler_target target;
	const uint32_t *ids; /* of the targets */
	size_t ids_len;
	/* SAMPLER_CGROUP: perf events attach to this folder of the caller's, so that ticks of other
	 * tasks never run the program. -1: BPF filters by `cgroups` instead. */
	int cgroup_fd;
	const uint64_t *cgroups; /* the cgroup and all current ones below it; their files are met */
	size_t cgroups_len;
	const struct cgroup_v1 *v1; /* hierarchies to use, at most CGROUP_V1_MAX */
	size_t v1_len;
	uint32_t v1_live;       /* bit i: hierarchy i has cgroups now */
	uint32_t pid_namespace; /* namespace of the reported pids; 0: the host's */
	bool by_tid, by_cpu;    /* separate samples by thread, by CPU */
	bool times;             /* send each tick with its time; else the kernel counts them */
	bool user, kernel, share_ticks; /* share_ticks: sampler/cpu_costs.h limits cgroups */
	uint64_t memory_bytes;    /* for all BPF maps; tables get the rest */
	cpu_clock_fn open_clock;  /* used if we lack the privilege; NULL: none */
	struct scan_reader scans; /* the reader for sampler_scan */
};

struct sampler_stats {
	/* Ticks due while the clocks ran, without filtered ones:
	 * expected = samples + idle + lost + skipped, always. */
	uint64_t expected;
	uint64_t samples, took_ns; /* took_ns: by their ticks, on all CPUs */
	uint64_t idle, filtered;   /* filtered: ticks of tasks outside the target */
	/* Missing ticks: a virtual CPU was not running, interrupts were off for too long, or
	 * another BPF program was interrupted. For a cgroup: what its running time lacks. */
	uint64_t skipped;
	uint64_t stolen; /* due while the hypervisor ran something else */
	uint64_t lost[LOST_REASONS_LEN];
	uint64_t events_lost[EVENT_KINDS_MAX]; /* by enum event_kind; not part of expected */
	uint64_t targets_lost[TARGET_LOSSES_LEN];
	uint64_t runs, run_ns; /* run_ns: 0 without kernel.bpf_stats_enabled */
	uint64_t bytes_out;    /* ring buffer and drained counts */
	uint64_t memory_bytes; /* of all maps */
	uint32_t cpus;         /* number with an event now */
	double running_s;      /* from start to stop */
	struct tick_time times[TICK_PARTS];
};

struct sampler;

/* Loads the program and opens the events, disabled. ctx is the callbacks'; the tally must outlive
 * the sampler. */
int sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
void sampler_free(struct sampler *sampler);

int sampler_start(struct sampler *sampler, struct why *why);
int sampler_set_hz(struct sampler *sampler, uint32_t hz); /* from now on */
void sampler_stop(struct sampler *sampler); /* then no tick runs the program */

/* Walks the code mappings of a process, or of all (tgid 0): each file becomes an object, passed to
 * the callback like any other, and each mapping is passed to take. */
int sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx);
const struct sample_bpf *sampler_skeleton(const struct sampler *sampler); /* for sampler/ */
const struct clocks *sampler_clocks(const struct sampler *sampler);       /* the same */
uint64_t **sampler_visit_ids(struct sampler *sampler); /* the same: object_ids.h */
struct publish *sampler_publish(struct sampler *sampler); /* valid as long as the sampler */
/* Sets the clock that measures the use of files and tables (SECOND_SHIFT), and returns it. */
uint32_t sampler_second(struct sampler *sampler);

/* Readable when sampler_poll or sampler_follow_cpus has work. */
int sampler_fd(const struct sampler *sampler);
int sampler_poll(struct sampler *sampler);
/* When both must be called at the latest; CLOCK_NEVER_NS: when it is readable. */
uint64_t sampler_due_ns(const struct sampler *sampler);
/* True: drain now, a count map is half full. */
bool sampler_pressed(const struct sampler *sampler);
/* Switches to the other count map and moves the counts of the first into the tally. last: no tick
 * follows, so ticks that wait for their key are lost. */
int sampler_drain(struct sampler *sampler, bool last);
/* The tally returned err for these ticks: counts them as lost if it is negative. */
void sampler_lost_ticks(struct sampler *sampler, int err, uint64_t ticks);
/* An epoch ends: BPF sends each stack and task once more when it meets it. */
void sampler_forget(struct sampler *sampler);
/* Handles CPUs that came or went. */
int sampler_follow_cpus(struct sampler *sampler);
void sampler_stats(struct sampler *sampler, struct sampler_stats *out);
