/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/cgroup.bpf.h - the cgroup of a task at the tick (its id: bpf/cgroup_id.bpf.h), and events for
 * cgroups that are made, removed or renamed. The event comes before the cgroup's first sample, so
 * that the path is known by then. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/cgroup_id.bpf.h"
#include "bpf/event.bpf.h"
#include "bpf/sample_maps.bpf.h"

/* One slot is enough: the kernel holds a lock around these tracepoints. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_cgroup);
} cgroup_event SEC(".maps");

static __always_inline u64 cgroup_of(struct scratch *s, struct task_struct *task)
{
	u64 id = bpf_get_current_cgroup_id(), v1;

	if (id > CGROUP_ROOT_NUMBER || !v1_live)
		return id;
	v1 = cgroup_v1_id(s->subsys, task);
	return v1 ? v1 : id;
}

/* ---- cgroups made, removed, renamed -------------------------------------------------------- */

/* Index in user space's list plus one; 0: cgroup v2; -1: a hierarchy that is not used. */
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

/* Adds a new cgroup below a target to the targets. */
static __always_inline void follow_targets(struct cgroup *cgroup, u64 id, u32 change)
{
	u64 above = id & ~CGROUP_NUMBER_MASK;
	u8 one = 1;

	if (change == CGROUP_REMOVED)
		bpf_map_delete_elem(&target_cgroups, &id);
	if (change != CGROUP_MADE)
		return;
	above |= BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
	if (bpf_map_lookup_elem(&target_cgroups, &above) &&
		bpf_map_update_elem(&target_cgroups, &id, &one, BPF_ANY))
		__sync_fetch_and_add(&targets_lost[TARGET_LOST_CGROUP], 1);
}

static __always_inline int emit_cgroup(struct cgroup *cgroup, const char *path, u32 change)
{
	struct event_cgroup *event;
	u64 size;
	u32 zero = 0;
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
	if (meets == FILTER_CGROUP)
		follow_targets(cgroup, event->id, change);
	len = bpf_probe_read_kernel_str(event->path, sizeof(event->path), path);
	/* User space looks up a path that is missing here. */
	if (len <= 0 || len > (long)sizeof(event->path)) {
		event->path[0] = '\0';
		len = 1;
	}
	size = offsetof(struct event_cgroup, path) + (u64)len;
	asm volatile("" : "+r"(size));
	if (size > sizeof(*event))
		size = sizeof(*event);
	event_send(event, size, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("raw_tp/cgroup_mkdir")
int BPF_PROG(cgroup_made, struct cgroup *cgroup, const char *path)
{
	return emit_cgroup(cgroup, path, CGROUP_MADE);
}

SEC("raw_tp/cgroup_rmdir")
int BPF_PROG(cgroup_removed, struct cgroup *cgroup, const char *path)
{
	return emit_cgroup(cgroup, path, CGROUP_REMOVED);
}

SEC("raw_tp/cgroup_rename")
int BPF_PROG(cgroup_renamed, struct cgroup *cgroup, const char *path)
{
	return emit_cgroup(cgroup, path, CGROUP_RENAMED);
}
