/* SPDX-License-Identifier: Apache-2.0 */
/* traps/thread_times.h - times of the threads of a trap's subject, between the latest two visits
 * (waiting/waiting.h). The traps make visits of their own, one a second, as long as they
 * take no more than 1/THREAD_TIMES_PART of one CPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waiting/thread_split.h"

#define THREAD_TIMES_PART 200
#define THREAD_TIMES_PIDS_MAX 256 /* of one subject; further ones are not in its captures */

struct containers;
struct waiting;

/* All that is not NULL or 0 must fit; of the host nothing is given. */
struct thread_whose {
	const char *container, *pod, *namespace_; /* labels */
	const char *comm;
	uint32_t pid;
};

struct wait_sum;

struct thread_times {
	uint64_t visited_ns; /* the latest visit, CLOCK_MONOTONIC; 0: none */
	uint64_t past_ns; /* between the latest two; 0: there is only one, or the latest failed */
	uint64_t due_ns;
};

struct thread_time {
	struct thread_split split;
	uint64_t past_ns;
	uint32_t threads;
	uint64_t start_ns; /* of the process with the pid */
};

struct thread_pids {
	uint32_t *data;
	size_t len, cap;
};

/* The number of the latest visit that saw one of these. */
uint32_t thread_times_latest(const struct wait_sum *all, size_t len);
/* Makes a visit if one is due. False: none was, or waiting is NULL. */
bool thread_times_visit(struct thread_times *times, struct waiting *waiting,
	struct containers *containers, uint64_t now_ns);
/* False: nothing is known of it, because it has no thread, was not there at the visit before, or
 * there were no two visits. pids: NULL, or gets the processes that it does not have yet. */
bool thread_times_of(const struct thread_times *times, const struct waiting *waiting,
	struct containers *containers, const struct thread_whose *whose, struct thread_time *out,
	struct thread_pids *pids);
