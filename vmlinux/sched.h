/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vmlinux/sched.h - the part of vmlinux/vmlinux.h for the scheduler's counters, which only
 * bpf/threads.bpf.c reads. */
#pragma once

#include "vmlinux/vmlinux.h"

struct sched_entity {
	u64 sum_exec_runtime;
} CORE;

/* A CPU's run queue. */
struct rq {
	u64 clock;
	u64 clock_task;
} CORE;

/* 6.12 and up. */
struct sched_entity___delayed {
	unsigned char sched_delayed;
} CORE;

struct task_struct___delayed {
	int on_rq;
	struct sched_entity___delayed se;
} CORE;

/* With CONFIG_FAIR_GROUP_SCHED, as the pointer to it. */
struct cfs_rq {
	struct rq *rq;
} CORE;

/* With CONFIG_CFS_BANDWIDTH. */
struct cfs_rq___quota {
	int throttle_count; /* of it and those above it that are throttled */
} CORE;

struct cfs_bandwidth {
	u64 quota; /* all bits: none */
	u64 throttled_time;
} CORE;

struct cgroup_subsys_state___numbered {
	int id;
} CORE;

struct task_group___quota {
	struct cgroup_subsys_state___numbered css;
	struct task_group___quota *parent;
	struct cfs_bandwidth cfs_bandwidth;
} CORE;

struct task_struct___quota {
	struct task_group___quota *sched_task_group;
	int prio;
} CORE;

struct sched_entity___grouped {
	struct cfs_rq *cfs_rq;
} CORE;

struct task_struct___grouped {
	struct sched_entity___grouped se;
} CORE;

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
} CORE;

struct thread_info___numbered {
	u32 cpu;
} CORE;

/* What bpf/threads.bpf.c reads beside the above. */
struct task_struct___counters {
	unsigned int flags;
	int pid;
	int tgid;
	int exit_state;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_boottime;
	struct task_struct___counters *group_leader;
	struct sched_entity se;
	char comm[16];
} CORE;

/* With CONFIG_SCHED_INFO. */
struct task_struct___sched_info {
	struct sched_info sched_info;
} CORE;

/* With CONFIG_SMP, and everywhere from 6.17 on. */
struct task_struct___on_cpu {
	int on_cpu;
} CORE;

/* 5.14 and up. */
struct task_struct___new_state {
	unsigned int __state;
} CORE;

/* Up to 5.13. */
struct task_struct___old_state {
	long state;
} CORE;

/* 5.16 and up. */
struct task_struct___info_cpu {
	struct thread_info___numbered thread_info;
} CORE;

/* Up to 5.15. */
struct task_struct___cpu {
	unsigned int cpu;
} CORE;
