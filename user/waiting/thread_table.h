/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_table.h - the threads of the host as they were at the latest visit. From the
 * records of the next one it makes each thread's split of the time between the two. A thread that
 * begins between visits has its whole time. A thread that ends between them loses the time after
 * its latest visit and is counted; a thread that begins and ends there is not seen. A pid that was
 * used again is another thread, as it has another start time. The table has THREAD_TABLE_MAX
 * places, which accounts share (base/share.h): a thread without a place has no split and is
 * counted. Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/share.h"
#include "base/vec.h"
#include "waiting/thread_split.h"

#define THREAD_TABLE_MAX 65536

/* The result of one pass of the iterator. */
struct thread_pass {
	const void *bytes; /* struct thread_record, one after the other */
	size_t len;
	uint64_t refused;              /* threads that found no room in it */
	const struct thread_cpu *cpus; /* clocks after the pass */
	size_t cpus_len;
	uint64_t boot_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
};

struct thread_entry {
	uint64_t start_ns, account;
	uint32_t tid;
	uint32_t visit; /* number of the latest visit that saw it */
	struct thread_point point;
};

struct thread_stats {
	uint64_t threads;   /* current */
	uint64_t visits;
	uint64_t ended;     /* the time since the latest visit is lost */
	uint64_t refused;   /* visits of a thread that had no place, here or in the pass */
	uint64_t stepped;   /* intervals of a thread whose counters or clock stepped */
	uint64_t truncated; /* visits that gave a part of a record, which is not used */
};

struct thread_table {
	VEC(struct thread_entry) entries;
	struct hash by_tid; /* tid → index */
	struct share places;
	struct thread_cpu *cpus; /* at the latest visit */
	size_t cpus_len;
	uint64_t visited_ns; /* CLOCK_MONOTONIC, begin of the latest visit; 0: there was none */
	uint32_t visit;
	struct thread_stats stats;
};

/* A thread's split of the time since the latest visit, or since its begin. */
typedef int (*thread_take_fn)(
	void *ctx, const struct thread_record *record, const struct thread_split *split);

struct thread_takers {
	uint64_t (*account)(void *ctx, uint64_t cgroup); /* the payer of its place */
	thread_take_fn take; /* a negative result ends the visit and is returned */
	void *ctx;
};

void thread_table_done(struct thread_table *table);
/* Calls take for each thread of which the interval's begin is known: none at the first visit. 0,
 * -ENOMEM or what take returned; then some threads have their next split over two intervals. */
int thread_table_visit(struct thread_table *table, const struct thread_pass *pass,
	const struct thread_takers *takers);
