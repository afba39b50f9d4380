/* SPDX-License-Identifier: Apache-2.0 */
/* client/stats.h - what the workers did and cost, for the account. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct worker_client;

#define WORKER_LANES 2 /* rows, names */

struct worker_stats {
	uint64_t requests;
	uint64_t restarts;                        /* workers started beyond the first two */
	uint64_t died, killed, hung, lied, grown; /* why they were lost: enum lane_cause */
	uint64_t refused;             /* requests not made, as one like it cost a worker */
	uint64_t late;                /* waits given up */
	uint64_t lines_given_up;      /* names told without lines, for want of time */
	uint64_t rows_built, rows_ns; /* files with rows, and their time */
	uint64_t symbol_loads, symbol_ns;
	uint64_t kept_bytes, kept_len, evicted; /* symbols and perf maps of the present worker */
	double cpu_s;
	uint64_t rss_max_kb;      /* both workers' together */
	uint32_t sandbox;         /* SANDBOX_* that both have */
	pid_t pids[WORKER_LANES]; /* 0: none for the moment */
	int end_status;           /* waitpid(2)'s, of the last worker that died; 0 none */
};

void worker_client_stats(struct worker_client *client, struct worker_stats *out);
