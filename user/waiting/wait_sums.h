/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_sums.h - sums of threads' splits: of each cgroup, or of each process. A table has
 * WAIT_SUMS_MAX places; those without one are counted. A process or cgroup that no visit sees any
 * more leaves its place after WAIT_SUMS_KEPT visits. Makes no system call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "waiting/thread_split.h"

#define WAIT_SUMS_MAX 65536
#define WAIT_SUMS_KEPT 4

struct wait_sum {
	uint64_t cgroup;     /* of a process: its latest one */
	uint64_t start_ns;   /* of a process; CLOCK_BOOTTIME */
	uint32_t tgid;       /* 0: the sum is a cgroup's */
	uint32_t threads;    /* at the latest visit */
	uint32_t visit;      /* number of that visit */
	char comm[COMM_LEN]; /* of a process: its leader's, else that of any thread */
	struct thread_split split;
	struct thread_split last; /* between the latest two visits */
};

struct wait_sums {
	VEC(struct wait_sum) all;
	struct hash by_key; /* hash of the key → index */
	uint32_t visit;     /* set by the owner before each visit */
	uint64_t refused;   /* splits that are in no sum */
};

void wait_sums_done(struct wait_sums *sums);
void wait_sums_clear(struct wait_sums *sums);
/* After a visit that saw all threads. Sums change their places. */
void wait_sums_forget(struct wait_sums *sums);
/* 0 or -ENOMEM: it is not in the sum. */
int wait_sums_add_process(struct wait_sums *sums, const struct thread_record *record,
	const struct thread_split *split);
int wait_sums_add_cgroup(struct wait_sums *sums, const struct thread_record *record,
	const struct thread_split *split);
