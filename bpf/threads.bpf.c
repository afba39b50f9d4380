/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/threads.bpf.c - reads the counters that the kernel keeps of each thread: time on a CPU, time
 * waited for one, number of switches. User space reads this iterator now and then, and takes
 * differences: no context switch costs anything. It reads kernel memory alone, so no thread can
 * hold it up. Tasks of the kernel are left out. */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/abi.h"
#include "bpf/cgroup_id.bpf.h"
#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u32 pass = 0; /* number of the pass, set by user space */
struct thread_cpu cpus[THREADS_CPUS_MAX];

/* The clock of the thread's CPU at its latest update; 0: this kernel does not show it. The clocks
 * of each CPU are kept once a pass. */
static __always_inline u64 read_cpu(struct task_struct *task, bool always)
{
	struct task_struct___grouped *grouped = (void *)task;
	u32 number = cpu_of(task);
	struct thread_cpu *cpu = &cpus[number & (THREADS_CPUS_MAX - 1)];
	struct rq *rq;
	u64 clock;

	if (!bpf_core_field_exists(grouped->se.cfs_rq) || (cpu->pass == pass && !always))
		return 0;
	rq = BPF_CORE_READ(grouped, se.cfs_rq, rq);
	clock = rq ? BPF_CORE_READ(rq, clock) : 0;
	if (clock && cpu->pass != pass) {
		cpu->clock_ns = clock;
		cpu->tasks_ns = BPF_CORE_READ(rq, clock_task);
		cpu->cpu = number;
		cpu->pass = pass;
	}
	return clock;
}

static __always_inline void read_schedule(struct thread_record *out, struct task_struct *task)
{
	struct task_struct___sched_info *info = (void *)task;
	u64 clock;

	if (bpf_core_field_exists(info->sched_info)) {
		out->delay_ns = BPF_CORE_READ(info, sched_info.run_delay);
		out->arrived_ns = BPF_CORE_READ(info, sched_info.last_arrival);
		out->queued_ns = BPF_CORE_READ(info, sched_info.last_queued);
		out->flags |= THREAD_DELAY_KNOWN;
	}
	out->class = class_of(task, state_of(task), out->queued_ns);
	clock = read_cpu(task, out->class == THREAD_RUNNING);
	out->updated_ns = out->class == THREAD_RUNNING ? clock : 0;
}

#define QUOTA_LEVELS 4 /* from the thread's cgroup upwards */
#define QUOTA_NONE (~0ULL)

static __always_inline void read_quota(struct thread_record *out, struct task_struct *task)
{
	struct task_struct___quota *quota = (void *)task;
	struct task_group___quota *group = NULL;

	if (!bpf_core_field_exists(quota->sched_task_group) ||
		!bpf_core_field_exists(group->cfs_bandwidth))
		return;
	group = BPF_CORE_READ(quota, sched_task_group);
	NOT_UNROLLED
	for (u32 i = 0; i < QUOTA_LEVELS && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != QUOTA_NONE) {
			out->throttled_ns = BPF_CORE_READ(group, cfs_bandwidth.throttled_time);
			out->quota = BPF_CORE_READ(group, css.id);
			return;
		}
		group = BPF_CORE_READ(group, parent);
	}
}

static __always_inline void read_counters(
	struct thread_record *out, struct task_struct___counters *task)
{
	out->start_ns = task->start_boottime;
	out->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	out->run_ns = task->se.sum_exec_runtime;
	out->voluntary = task->nvcsw;
	out->involuntary = task->nivcsw;
	out->flags |= BPF_CORE_READ_BITFIELD(task, in_iowait) ? THREAD_IN_IOWAIT : 0;
	bpf_probe_read_kernel(out->comm, sizeof(out->comm), &task->comm);
}

SEC("iter/task")
int threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___counters *counters = (void *)task;
	struct thread_record out = {};
	u64 subsys[CGROUP_SUBSYS_MAX], ids;

	if (!task)
		return 0;
	if (task->flags & PF_KTHREAD || counters->exit_state || !(ids = thread_ids(task)))
		return 0;
	out.tgid = ids >> 32;
	out.tid = (u32)ids;
	out.now_ns = bpf_ktime_get_ns();
	read_schedule(&out, task);
	read_counters(&out, counters);
	read_quota(&out, task);
	out.cgroup = cgroup_of_other(subsys, task);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
