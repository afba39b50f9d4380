/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/target.bpf.h - separates the processes of the target from others. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/pidns.bpf.h"
#include "bpf/sample_maps.bpf.h"

#define ANCESTORS_MAX 16

/* Not static, so that the loop is verified once; therefore a pointer is passed as a number. */
__noinline int target_above(u64 task, u32 tgid)
{
	u8 one = 1;

	for (int depth = 0; depth < ANCESTORS_MAX; depth++) {
		u32 parent;

		task = (u64)BPF_CORE_READ((struct task_struct *)task, real_parent);
		if (!task)
			return 0;
		parent = pidns_tgid((struct task_struct *)task);
		if (parent <= 1)
			return 0;
		if (bpf_map_lookup_elem(&targets, &parent)) {
			if (bpf_map_update_elem(&targets, &tgid, &one, BPF_ANY))
				__sync_fetch_and_add(&targets_lost[TARGET_LOST_PROCESS], 1);
			return 1;
		}
	}
	return 0;
}

/* Is one of its ancestors a target? Then it is one from now on, whoever its parent will be. */
static __always_inline bool target_descends(struct task_struct *task, u32 tgid)
{
	return target_above((u64)BPF_CORE_READ(task, group_leader), tgid);
}

/* Is the process one of those that `kind` filters? Threads are filtered by the tick alone. */
static __always_inline bool target_has(u32 kind, struct task_struct *task, u32 tgid, u64 cgroup)
{
	if (kind == FILTER_TREE)
		return bpf_map_lookup_elem(&targets, &tgid) || target_descends(task, tgid);
	if (kind == FILTER_TGID)
		return bpf_map_lookup_elem(&targets, &tgid);
	if (kind == FILTER_CGROUP)
		return bpf_map_lookup_elem(&target_cgroups, &cgroup);
	return true;
}
