/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_split.h - splits a thread's wall time between two visits into four shares, whose
 * sum is the wall time:
 *
 * running   on a CPU: growth of sum_exec_runtime, and the time since its CPU's latest update.
 * runnable  waiting for a CPU: growth of run_delay, and the age of a wait that has not ended. Linux
 *           6.12 and later count some of what is blocked here: they leave a thread that begins to
 *           wait on its queue for a while, and where it is moved to another CPU the rest of its
 *           wait counts as one for a CPU.
 * blocked   waiting for something else, as far as the thread is known to have waited: a switch that
 *           was voluntary, or a state other than runnable at a visit. A thread without either was
 *           running or runnable all the time and has no blocked time.
 * other     the rest: interrupts and what the hypervisor took, where the kernel does not count them
 *           as running. A thread that did not wait has all of its rest here. A thread that did wait
 *           has here what CPUs gave to others than tasks while it ran, at the rate of all CPUs in
 *           this interval; the remainder is blocked. Where the kernel counts no waits for a CPU,
 *           all of the rest of a thread that switched is here.
 *
 * Makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

/* A CPU updates its thread's time at its tick: two visits may be off by one each. */
#define THREAD_SPLIT_SLACK_NS 25000000

struct thread_split {
	uint64_t wall_ns, running_ns, runnable_ns, blocked_ns, other_ns;
	uint64_t throttled_ns; /* no share: so long its cgroup's quota was used up, on all CPUs */
};

/* A thread at a visit. */
struct thread_point {
	uint64_t now_ns;    /* CLOCK_MONOTONIC */
	uint64_t run_ns;    /* running so far */
	uint64_t delay_ns;  /* runnable so far */
	uint64_t voluntary; /* switches */
	uint64_t involuntary;
	uint8_t class; /* enum thread_class */
	bool delay_known;
	uint32_t quota; /* number of the cgroup that has one; 0: none */
	uint64_t throttled_ns;
};

enum thread_split_result {
	THREAD_SPLIT_OK,
	THREAD_SPLIT_STEPPED, /* a counter or a clock stepped: nothing is known of this interval */
};

/* scheduler_ns: what has to be added to the scheduler's clock for CLOCK_MONOTONIC; it may wrap. */
struct thread_point thread_point_of(const struct thread_record *record, uint64_t scheduler_ns);

/* Counters may wrap between the two. taken: time that CPUs gave to others than tasks, per time that
 * they gave to tasks. */
enum thread_split_result thread_split(const struct thread_point *before,
	const struct thread_point *after, double taken, struct thread_split *out);
/* The shares. */
void thread_split_add(struct thread_split *sum, const struct thread_split *split);
/* Of all threads that one quota holds back each has all of its time: a sum has the largest one of
 * each visit. last: the sum of this visit, or sum itself where there is one. */
void thread_split_throttle(struct thread_split *sum, struct thread_split *last, uint64_t ns);
/* The part of the time in which threads wanted a CPU that they had none; 0: they wanted none. */
double thread_split_starved_percent(const struct thread_split *split);
