/* SPDX-License-Identifier: Apache-2.0 */
/* client/stats.h - work and cost of the workers, for the account. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "wire/counters.h"

struct worker_client;

#define WORKER_LANES 3          /* rows, names, rows of large files */
#define WORKER_LANES_STANDING 2 /* the first ones: the last is started at need */

struct worker_stats {
	uint64_t requests;
	uint64_t restarts; /* workers that replaced lost ones */
	uint64_t lost[LANE_CAUSES];
	uint64_t refused; /* requests refused because a similar one cost a worker */
	uint64_t openers_given_up;
	uint64_t unsent; /* tries that failed as descriptors of our user were in flight */
	uint64_t stopped; /* times that a process was found stopped by a signal */
	uint64_t late;           /* waits that ended at their deadline */
	uint64_t lines_given_up; /* names without lines, because time ran out */
	uint64_t symbol_loads, symbol_ns;
	uint64_t kept_bytes, kept_len, evicted; /* symbols and perf maps of the current worker */
	double cpu_s;                           /* also of the openers */
	uint64_t rss_max_kb;                    /* sum of all workers */
	uint32_t sandbox;                       /* SANDBOX_* that the standing ones have */
	pid_t pids[WORKER_LANES];               /* 0: none at the moment */
	int end_status; /* from waitpid(2), of the latest worker that died; 0: none */
};

void worker_client_stats(struct worker_client *client, struct worker_stats *out);
/* These read no file. */
uint64_t worker_client_unsent(const struct worker_client *client);
uint64_t worker_client_stopped(const struct worker_client *client);
/* The fault of a reply over which a worker was lost, a static text; NULL: there was none. */
const char *worker_client_fault(const struct worker_client *client);
