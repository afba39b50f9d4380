/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/cgroup_id.bpf.h - the id of a task's cgroup (bpf/abi_cgroup.h), on hosts with cgroup
 * v2, v1 or both. Has no maps. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

const volatile struct cgroup_v1 v1_hierarchies[CGROUP_V1_MAX] = {};
const volatile __u32 v1_len = 0;
__u32 v1_live = 0; /* bit i: hierarchy i has cgroups; user space sets the initial value */

#define SUBSYS_CASE(id, name, kernel)                                                       \
	case id:                                                                            \
		return bpf_core_enum_value_exists(enum cgroup_subsys_id, kernel##_cgrp_id)  \
			? (s32)bpf_core_enum_value(enum cgroup_subsys_id, kernel##_cgrp_id) \
			: -1;

static __always_inline s32 subsys_of(u32 controller)
{
	switch (controller) {
		CGROUP_CONTROLLERS(SUBSYS_CASE)
	default:
		return -1;
	}
}

struct cgroup_v1_known v1_known[CGROUP_V1_MAX];

#define V1_NOWHERE (CGROUP_SUBSYS_MAX + 1)

static __always_inline u32 v1_place(u32 i)
{
	u32 at = v1_known[i].at;
	s32 subsys;

	if (at)
		return at;
	subsys = subsys_of(v1_hierarchies[i].controller);
	at = subsys >= 0 && subsys < CGROUP_SUBSYS_MAX ? (u32)subsys + 1 : V1_NOWHERE;
	v1_known[i].at = at;
	return at;
}

/* Reads the task's whole list with one helper call, which is cheaper than one call an entry. 0 or
 * -1. */
static __always_inline int v1_read(u64 *subsys, struct task_struct *task)
{
	u64 from = TASK_TYPED ? (u64)task->cgroups : (u64)BPF_CORE_READ(task, cgroups);
	u32 size = bpf_core_field_size(struct css_set, subsys);

	if (size > CGROUP_SUBSYS_MAX * sizeof(*subsys))
		size = CGROUP_SUBSYS_MAX * sizeof(*subsys);
	from += bpf_core_field_offset(struct css_set, subsys);
	return bpf_probe_read_kernel(subsys, size, (void *)from) ? -1 : 0;
}

/* The kernfs number of the task's cgroup in hierarchy i. */
static __always_inline u64 v1_number(const u64 *subsys, u32 i)
{
	struct cgroup_subsys_state *css;
	u32 at = v1_place(i) - 1;
	u64 number;

	if (at >= CGROUP_SUBSYS_MAX)
		return CGROUP_ROOT_NUMBER;
	css = (void *)subsys[at];
	if (!css || (u64)css == v1_known[i].root)
		return CGROUP_ROOT_NUMBER;
	number = BPF_CORE_READ(css, cgroup, kn, id);
	if (number == CGROUP_ROOT_NUMBER)
		v1_known[i].root = (u64)css;
	return number;
}

/* subsys: room for the task's list. 0: the task is in the root of every hierarchy. */
static __noinline u64 cgroup_v1_id(u64 *subsys, struct task_struct *task)
{
	if (v1_read(subsys, task))
		return 0;
	for (u32 i = 0; i < CGROUP_V1_MAX; i++) {
		u64 number;

		if (i >= v1_len)
			break;
		if (!(v1_live & 1U << i))
			continue;
		number = v1_number(subsys, i);
		if (number > CGROUP_ROOT_NUMBER)
			return (u64)(i + 1) << CGROUP_HIERARCHY_SHIFT | number;
	}
	return 0;
}

/* The id of any task's cgroup; it need not run here. subsys: as above. */
static __always_inline u64 cgroup_of_other(u64 *subsys, struct task_struct *task)
{
	u64 id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id), v1;

	if (id > CGROUP_ROOT_NUMBER || !v1_live)
		return id;
	v1 = cgroup_v1_id(subsys, task);
	return v1 ? v1 : id;
}
