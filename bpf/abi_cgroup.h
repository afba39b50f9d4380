/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_cgroup.h - the part of bpf/abi.h that is about cgroups. */
#pragma once

/* A cgroup: its number in kernfs, and above it by which hierarchy it is known: 0 for cgroup v2, or
 * one more than the place of a v1 hierarchy in the list that user space gave. A task's v2 cgroup
 * counts, unless that is the root: then the first of its v1 cgroups which is none. */
#define CGROUP_HIERARCHY_SHIFT 60
#define CGROUP_NUMBER_MASK ((1ULL << CGROUP_HIERARCHY_SHIFT) - 1)
#define CGROUP_V1_MAX 8
#define CGROUP_SUBSYS_MAX 16   /* controllers of a kernel; 14 in 6.18 */
#define CGROUP_ROOT_NUMBER 1 /* of every hierarchy */

/* The controllers by which a v1 hierarchy is known, those that whole containers and services have
 * first: name in /proc/cgroups, and in the kernel. */
#define CGROUP_CONTROLLERS(X)                          \
	X(CGROUP_PIDS, "pids", pids)                   \
	X(CGROUP_CPU, "cpu", cpu)                      \
	X(CGROUP_CPUACCT, "cpuacct", cpuacct)          \
	X(CGROUP_DEVICES, "devices", devices)          \
	X(CGROUP_FREEZER, "freezer", freezer)          \
	X(CGROUP_BLKIO, "blkio", io)                   \
	X(CGROUP_CPUSET, "cpuset", cpuset)             \
	X(CGROUP_PERF_EVENT, "perf_event", perf_event) \
	X(CGROUP_NET_CLS, "net_cls", net_cls)          \
	X(CGROUP_MEMORY, "memory", memory)             \
	X(CGROUP_HUGETLB, "hugetlb", hugetlb)

#define CGROUP_CONTROLLER_ID(id, name, kernel) id,
enum cgroup_controller { CGROUP_CONTROLLERS(CGROUP_CONTROLLER_ID) CGROUP_CONTROLLERS_LEN };
#undef CGROUP_CONTROLLER_ID

/* A v1 hierarchy that may be asked. */
struct cgroup_v1 {
	__u32 hierarchy;  /* its number, of /proc/cgroups */
	__u32 controller; /* enum cgroup_controller */
};

/* What is known of it while sampling. */
struct cgroup_v1_known {
	__u64 root; /* as it was met: it lives as long as the hierarchy, and most tasks are there */
	__u32 at;   /* one more than its place in a task's list; 0: not looked for yet */
	__u32 pad;
};

enum cgroup_change {
	CGROUP_MADE,
	CGROUP_REMOVED,
	CGROUP_RENAMED,
	CGROUP_LOST, /* of no cgroup, made in user space: some events were lost before this one */
};

#define CGROUP_PATH_MAX 1024 /* what the kernel tells; longer ones are cut */

struct event_cgroup {
	__u32 kind;
	__u32 change;
	__u64 id;
	char path[CGROUP_PATH_MAX]; /* from the hierarchy's root; what is after its NUL is not sent;
				     "": could not be read */
};
