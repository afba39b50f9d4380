/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/scan.bpf.h - finds running code before its first tick, so that its tables are ready. A scan
 * lists the code mappings of the iterated tasks and makes an object of each file. User space runs
 * it at the start for all tasks, when it says, too, who has code without a file, and later for
 * single processes. One scan at a time. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/pidns.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task.bpf.h"

__u32 scan_tgid = 0; /* 0: all */

/* A process usually has dozens of code mappings among hundreds. */
#define SCAN_MAPPINGS_MAX 2048

/* 0 and *out; 1: the mapping is skipped. */
static __always_inline int scan_describe(
	struct scan_mapping *out, struct task_struct *task, struct vm_area_struct *vma)
{
	unsigned long flags = BPF_CORE_READ(vma, vm_flags);
	struct object_value *object;
	struct inode *inode;
	u32 zero = 0;
	struct scan_scratch *scan = bpf_map_lookup_elem(&scan_scratches, &zero);
	struct event_object *event;

	if (!scan || !(flags & VM_EXEC))
		return 1;
	event = &scan->event;
	event->tgid = pidns_tgid(task);
	event->cgroup = cgroup_of_other(scan->subsys, task);
	if (!target_has(meets, task, event->tgid, event->cgroup))
		return 1;
	out->start = BPF_CORE_READ(vma, vm_start);
	out->end = BPF_CORE_READ(vma, vm_end);
	out->file_offset = (u64)BPF_CORE_READ(vma, vm_pgoff) << page_shift;
	out->tgid = event->tgid;
	out->object = 0;
	event->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	inode = mapping_inode(vma);
	if (!inode) {
		vma = mapping_moved_from(BPF_CORE_READ(task, mm), out->start, out->end, ASKER_SCAN,
			&out->file_offset);
		inode = vma ? mapping_inode(vma) : NULL;
	}
	if (inode) {
		object = object_of(event, vma, inode, ASKER_SCAN);
		if (!object)
			return 1;
		out->object = object->id;
	} else if (out->start == (u64)BPF_CORE_READ(task, mm, context.vdso)) {
		out->object = OBJECT_VDSO;
		out->file_offset = 0;
	} else if (!scan_tgid && !BPF_CORE_READ(vma, vm_ops)) { /* none of the kernel's own */
		emit_jit(event->tgid, event->start_ns, start_stack_in(BPF_CORE_READ(task, mm)));
	}
	return 0;
}

SEC("iter/task_vma")
int scan(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct scan_mapping out;

	if (task && vma && task->pid == task->tgid && scan_describe(&out, task, vma) == 0)
		bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

/* ---- 5.10 and 5.11: iterate all tasks, but not their mappings ------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scan_mapping);
} scan_out SEC(".maps");

/* One mapping, into scan_out. Global, so that the verifier checks it once and not for each turn of
 * the loop; therefore pointers are passed as numbers. */
__noinline int scan_one(u64 task, u64 vma)
{
	u32 zero = 0;
	struct scan_mapping *out = bpf_map_lookup_elem(&scan_out, &zero);

	return out ? scan_describe(out, (void *)task, (void *)vma) : 1;
}

SEC("iter/task")
int scan_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct___rb *vma;
	struct mm_struct___rb *mm;
	struct scan_mapping *out;
	u32 zero = 0;
	u64 leader; /* task pointer as a number */

	if (!task || task->pid != task->tgid || (scan_tgid && pidns_tgid(task) != scan_tgid))
		return 0;
	out = bpf_map_lookup_elem(&scan_out, &zero);
	leader = (u64)BPF_CORE_READ(task, group_leader);
	mm = (void *)BPF_CORE_READ(task, mm);
	vma = BPF_CORE_READ(mm, mmap);
	for (u32 i = 0; out && vma && i < SCAN_MAPPINGS_MAX; i++) {
		if (scan_one(leader, (u64)vma) == 0)
			bpf_seq_write(ctx->meta->seq, out, sizeof(*out));
		vma = BPF_CORE_READ(vma, vm_next);
	}
	return 0;
}
