/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_cgroup.h - the part of bpf/abi.h for cgroups. */
#pragma once

/* A cgroup id: the kernfs number, and in the high bits its hierarchy: 0 for cgroup v2, else one
 * more than the index of a v1 hierarchy in user space's list. The id is the task's v2 cgroup. If
 * that is the root, it is the first v1 cgroup that is not a root. */
#define CGROUP_HIERARCHY_SHIFT 60
#define CGROUP_NUMBER_MASK ((1ULL << CGROUP_HIERARCHY_SHIFT) - 1)
#define CGROUP_V1_MAX 8
#define CGROUP_SUBSYS_MAX 16 /* the kernel's maximum number of controllers; 14 in 6.18 */
#define CGROUP_ROOT_NUMBER 1 /* number of every hierarchy's root */

/* Controllers that identify a v1 hierarchy, in order of preference: first those that contain whole
 * containers and services. Columns: name in /proc/cgroups, name in the kernel. */
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

/* A v1 hierarchy that BPF may use. */
struct cgroup_v1 {
	__u32 hierarchy;  /* number in /proc/cgroups */
	__u32 controller; /* enum cgroup_controller */
};

/* State of a v1 hierarchy while sampling. */
struct cgroup_v1_known {
	__u64 root; /* root cgroup; as old as the hierarchy, and the cgroup of most tasks */
	__u32 at;   /* index in a task's list plus one; 0: not yet looked up */
	__u32 pad;
};

enum cgroup_change {
	CGROUP_MADE,
	CGROUP_REMOVED,
	CGROUP_RENAMED,
	CGROUP_LOST, /* made in user space, for no cgroup: earlier events were lost */
};

#define CGROUP_PATH_MAX 1024 /* longer paths are cut */

struct event_cgroup {
	__u32 kind;
	__u32 change;
	__u64 id;
	/* From the hierarchy's root; "": unreadable. Bytes after its NUL are not sent. */
	char path[CGROUP_PATH_MAX];
};

_Static_assert(sizeof(struct event_cgroup) == 16 + CGROUP_PATH_MAX, "event_cgroup");
_Static_assert(sizeof(struct cgroup_v1) == 8, "cgroup_v1");
_Static_assert(sizeof(struct cgroup_v1_known) == 16, "cgroup_v1_known");
