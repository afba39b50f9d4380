/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/waiting.h - the running, runnable, blocked and other time of this host's threads since it
 * was opened, summed for each container or unit, and for each process if that is wanted. A pass is
 * an iterator's, so it waits for no thread; passes take at most 1/WAITING_PART of one CPU. A
 * container or unit has its row from its first interval on. There are WAITING_ROWS_MAX rows,
 * which accounts share (base/share.h); the time of those that find none is in "[others]". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "waiting/thread_table.h"
#include "waiting/wait_sums.h"

#define WAITING_PART 1000
#define WAITING_EVERY_NS 10000000000ULL /* between passes at the least */
#define WAITING_ROWS_MAX 512
#define WAITING_OTHERS "[others]"

struct cgroup_tree;
struct containers;
struct waiting;

/* One container, or a unit or cgroup outside of them: labels as those of samples. */
struct waiting_row {
	char *container, *pod, *namespace_, *unit;
	uint32_t threads;            /* at the latest pass */
	uint32_t visit;              /* number of that pass */
	struct thread_split sum;     /* since the begin */
	struct thread_split last;    /* between the latest two passes */
	uint64_t cgroup;             /* one of its own */
	uint64_t account;            /* of its labels: base/share.h */
};

/* tree: NULL, none is mounted. Takes rights that are given up afterwards. */
int waiting_open(const struct cgroup_tree *tree, uint32_t pid_namespace, bool processes,
	struct waiting **out, struct why *why);
void waiting_free(struct waiting *waiting);

/* Visits all threads now. waiting may be NULL. 0 or -errno. */
int waiting_visit(struct waiting *waiting, struct containers *containers);
/* The next visit is due from then on (CLOCK_MONOTONIC); nobody need wake for it. CLOCK_NEVER_NS:
 * waiting is NULL. */
uint64_t waiting_due_ns(const struct waiting *waiting);

/* Valid until the next visit; *len of them. waiting may be NULL. */
const struct waiting_row *waiting_rows(const struct waiting *waiting, size_t *len);
const struct wait_sum *waiting_processes(const struct waiting *waiting, size_t *len);
/* Threads that had no place at a visit, added up: their times are missing. */
uint64_t waiting_refused(const struct waiting *waiting);
/* Begin of the latest visit, CLOCK_MONOTONIC; 0: there was none. */
uint64_t waiting_visited_ns(const struct waiting *waiting);
/* Between the latest two passes, the part of the time in which the row's quota was used up, all
 * CPUs together. */
double waiting_throttled_percent(const struct waiting *waiting, const struct waiting_row *row);
