/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/cgroup.bpf.h - the cgroup that a task is in, at the tick; and cgroups that come and go, told
 * when they do, so that each has its path before it has a sample. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/sample_maps.bpf.h"

const volatile struct cgroup_v1 v1_hierarchies[CGROUP_V1_MAX] = {};
const volatile __u32 v1_len = 0;
__u32 v1_live = 0; /* by bit: that hierarchy has cgroups; user space sets the first */

/* Cgroups whose tasks are wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} target_cgroups SEC(".maps");

/* Cgroups change one at a time: the kernel holds a lock around these tracepoints. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_cgroup);
} cgroup_event SEC(".maps");

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

/* Of each hierarchy's root, as it was met: it lives as long as the hierarchy. Most tasks are there,
 * and it is told by its place alone. */
__u64 v1_roots[CGROUP_V1_MAX];

/* The number of the task's cgroup in a v1 hierarchy. */
static __always_inline u64 cgroup_v1_number(u64 css_set, u32 controller, __u64 *root)
{
	struct cgroup_subsys_state *css = NULL;
	u64 number;
	s32 subsys = subsys_of(controller);

	if (subsys < 0)
		return CGROUP_ROOT_NUMBER;
	bpf_probe_read_kernel(&css, sizeof(css),
		(void *)(css_set + bpf_core_field_offset(struct css_set, subsys) +
			(u64)subsys * sizeof(css)));
	if (!css || (u64)css == *root)
		return CGROUP_ROOT_NUMBER;
	number = BPF_CORE_READ(css, cgroup, kn, id);
	if (number == CGROUP_ROOT_NUMBER)
		*root = (u64)css;
	return number;
}

/* Global, so that it is verified once. 0: it is in the root of all. */
__noinline u64 cgroup_v1_id(u64 css_set)
{
	for (u32 i = 0; i < CGROUP_V1_MAX; i++) {
		u64 number;

		if (i >= v1_len)
			break;
		if (!(v1_live & 1U << i))
			continue;
		number = cgroup_v1_number(css_set, v1_hierarchies[i].controller, &v1_roots[i]);
		if (number > CGROUP_ROOT_NUMBER)
			return (u64)(i + 1) << CGROUP_HIERARCHY_SHIFT | number;
	}
	return 0;
}

static __always_inline u64 cgroup_of(struct task_struct *task)
{
	u64 id = bpf_get_current_cgroup_id(), v1;

	if (id > CGROUP_ROOT_NUMBER || !v1_live)
		return id;
	v1 = cgroup_v1_id((u64)BPF_CORE_READ(task, cgroups));
	return v1 ? v1 : id;
}

/* ---- cgroups that come and go --------------------------------------------------------------- */

/* Its place in the list, from 1; 0: cgroup v2; -1: none that is asked. */
static __always_inline int hierarchy_of(struct cgroup *cgroup)
{
	u32 hierarchy = BPF_CORE_READ(cgroup, root, hierarchy_id);

	if (hierarchy == 0)
		return 0;
	for (u32 i = 0; i < CGROUP_V1_MAX; i++)
		if (i < v1_len && v1_hierarchies[i].hierarchy == hierarchy)
			return i + 1;
	return -1;
}

static __always_inline int tell_cgroup(struct cgroup *cgroup, const char *path, u32 change)
{
	struct event_cgroup *event;
	u64 above, size;
	u32 zero = 0;
	u8 one = 1;
	int place = hierarchy_of(cgroup);
	long len;

	event = bpf_map_lookup_elem(&cgroup_event, &zero);
	if (place < 0 || !event)
		return 0;
	if (place > 0)
		v1_live |= 1U << (place - 1);
	event->kind = EVENT_CGROUP;
	event->change = change;
	event->id = (u64)place << CGROUP_HIERARCHY_SHIFT | BPF_CORE_READ(cgroup, kn, id);
	if (filter == FILTER_CGROUP && change == CGROUP_MADE) {
		above = (u64)place << CGROUP_HIERARCHY_SHIFT |
			BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
		if (bpf_map_lookup_elem(&target_cgroups, &above))
			bpf_map_update_elem(&target_cgroups, &event->id, &one, BPF_ANY);
	}
	len = bpf_probe_read_kernel_str(event->path, sizeof(event->path), path);
	if (len <= 0 || len > (long)sizeof(event->path))
		return 0;
	size = offsetof(struct event_cgroup, path) + (u64)len;
	asm volatile("" : "+r"(size));
	if (size > sizeof(*event))
		return 0;
	bpf_ringbuf_output(&events, event, size, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_made, struct cgroup *cgroup, const char *path)
{
	return tell_cgroup(cgroup, path, CGROUP_MADE);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_removed, struct cgroup *cgroup, const char *path)
{
	return tell_cgroup(cgroup, path, CGROUP_REMOVED);
}

SEC("tp_btf/cgroup_rename")
int BPF_PROG(cgroup_renamed, struct cgroup *cgroup, const char *path)
{
	return tell_cgroup(cgroup, path, CGROUP_RENAMED);
}
