/* SPDX-License-Identifier: Apache-2.0 */
/* agent/account.h - a report of what a capture did, lost and cost. wire/counters.h names each
 * number; ticks expected = samples + idle + skipped + lost. Frames and stacks are counted once a
 * sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "bpf/reasons.h"
#include "containers/containers.h"
#include "agent/deferred.h"
#include "files/java_codes.h"
#include "files/languages.h"
#include "files/objects.h"
#include "files/processes.h"
#include "jit/jit_stats.h"
#include "sampler/sampler.h"
#include "unwind/publish.h"
#include "waiting/walls.h"
#include "client/stats.h"
#include "wire/counters.h"

/* The frequency that the daemon's CPU budgets allow; hz_set 0: there are none. */
struct account_governor {
	uint32_t hz_set, hz, limited; /* accounts with a limit of a tick's time of their own */
	uint64_t allowed_ppm;         /* of each CPU for ticks, of one core for all the rest */
	uint64_t cost_ppm, ticks_ppm; /* of the rest, and of ticks on the CPU where they took most:
				       * of the latest complete window */
	uint64_t stepped_down, stepped_up;
};

struct account_traps {
	uint64_t rules, watched, fired;
	uint64_t refused;         /* not captured, because others were being captured or written */
	uint64_t written, failed; /* bundles */
};

/* The process whose frames without a name are most, as there is no perf map. */
struct account_jit {
	uint64_t frames, all; /* and how many frames it has */
	struct processes_name process;
};

struct account {
	uint32_t hz;
	double duration_s;
	uint64_t start_ns; /* time from the agent's start to the first tick: load, scan, tables */
	struct sampler_stats sampler;
	struct objects_stats objects;
	const struct objects *files; /* for the lists of single files; NULL: they stay empty */
	struct publish_stats tables;
	struct deferred_stats deferred;
	struct worker_stats worker;
	uint64_t stacks_total, stacks_complete, stacks_guessed;
	uint64_t stacks_truncated[STACK_ENDS_LEN];
	uint64_t waits_total, waits_complete; /* visits, of stacks with a user half */
	struct walls_stats walls;
	uint64_t threads_refused; /* waiting_refused */
	/* agent/calls.h */
	uint64_t calls_checked, calls_impossible, calls_unchecked;
	uint64_t frames_total, frames_named; /* without inlined frames */
	uint64_t frames_inlined;
	uint64_t names_cut, samples_left_out; /* profile_fit */
	uint64_t frames_by_source[NAME_SOURCES_LEN];
	uint64_t frames_unnamed[UNNAMED_REASONS_LEN];
	uint64_t maps_refused[FILE_REASONS_LEN]; /* perf maps that were not read */
	struct account_jit unnamed_jit;
	struct jit_stats jit; /* the agent's owner's */
	struct java_codes_stats java;
	uint64_t java_undescribed; /* processes that found no place */
	struct languages_stats languages;
	struct containers_stats containers;
	struct account_governor governor;
	const struct account_traps *traps; /* NULL: none are configured */
	double agent_cpu_s;
	uint64_t agent_rss_max_kb;
};

/* The JSON of --stats, with a newline at its end. Returns buf_err(out), as the next. */
int account_write_json(const struct account *account, struct buf *out);
/* A few lines for a person. */
int account_write_text(const struct account *account, struct buf *out);
