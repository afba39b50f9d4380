/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/thread.bpf.h - the state of any thread, whether it runs or not: of a task that an iterator
 * gives. Has no maps. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/pidns.bpf.h"
#include "vmlinux/sched.h"

/* The kernel's: include/linux/sched.h. */
#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_RTLOCK_WAIT 0x1000 /* a lock of a kernel with PREEMPT_RT */
#define TASK_STOPPED_OR_TRACED 12
#define TASK_PARKED 0x40
#define TASK_FROZEN 0x8000

static __always_inline u32 state_of(struct task_struct *task)
{
	struct task_struct___new_state *new = (void *)task;
	struct task_struct___old_state *old = (void *)task;

	if (bpf_core_field_exists(new->__state))
		return new->__state;
	return (u32)old->state;
}

static __always_inline u32 cpu_of(struct task_struct *task)
{
	struct task_struct___info_cpu *info = (void *)task;
	struct task_struct___cpu *own = (void *)task;

	if (bpf_core_field_exists(info->thread_info.cpu))
		return BPF_CORE_READ(info, thread_info.cpu);
	return bpf_core_field_exists(own->cpu) ? BPF_CORE_READ(own, cpu) : 0;
}

static __always_inline bool is_on_cpu(struct task_struct *task)
{
	struct task_struct___on_cpu *smp = (void *)task;

	/* An int, and a byte among others in Linux 7. */
	return bpf_core_field_exists(smp->on_cpu) && BPF_CORE_READ_BITFIELD(smp, on_cpu);
}

/* No quota holds back up to this. */
#define PRIO_REAL_TIME_MAX 99

/* Has its cgroup, or one above it, no CPU time left? */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___grouped *grouped = (void *)task;
	struct task_struct___quota *quota = (void *)task;
	struct cfs_rq___quota *queue = NULL;

	if (!bpf_core_field_exists(grouped->se.cfs_rq) ||
		!bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = (void *)BPF_CORE_READ(grouped, se.cfs_rq);
	return BPF_CORE_READ(queue, throttle_count) > 0 &&
		BPF_CORE_READ(quota, prio) > PRIO_REAL_TIME_MAX;
}

/* Linux 6.12 and later leave a thread that begins to wait on its queue for a while. If it is moved
 * to another CPU then, the scheduler notes that it is queued, up to the end of its wait. */
static __always_inline bool is_queued(struct task_struct *task, u64 queued_ns)
{
	struct task_struct___delayed *delayed = (void *)task;

	if (!queued_ns || BPF_CORE_READ(delayed, on_rq) == 0)
		return false;
	return !bpf_core_field_exists(delayed->se.sched_delayed) ||
		!BPF_CORE_READ(delayed, se.sched_delayed);
}

/* A cgroup's freezer of v2 leaves the thread in an interruptible wait. */
static __always_inline bool is_frozen(struct task_struct *task)
{
	struct task_struct___counters *t = (void *)task;

	return bpf_core_field_exists(t->frozen) && BPF_CORE_READ_BITFIELD(t, frozen);
}

/* A thread that has a CPU may have begun to wait, and one that waits may have been woken. */
static __always_inline u8 class_of(struct task_struct *task, u32 state, u64 queued_ns)
{
	if (is_on_cpu(task))
		return THREAD_RUNNING;
	if (is_queued(task, queued_ns))
		return is_throttled(task) ? THREAD_THROTTLED : THREAD_RUNNABLE;
	if (state & TASK_INTERRUPTIBLE)
		return is_frozen(task) ? THREAD_STOPPED : THREAD_SLEEPING;
	if (state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return THREAD_DISK;
	if (state & (TASK_STOPPED_OR_TRACED | TASK_PARKED | TASK_FROZEN))
		return THREAD_STOPPED;
	return is_throttled(task) ? THREAD_THROTTLED : THREAD_RUNNABLE;
}

/* Its numbers in our namespace, in the format of bpf_get_current_pid_tgid(); 0: it has none. */
static __always_inline u64 thread_ids(struct task_struct *task)
{
	u64 ids = pidns_current(task, (u64)task->tgid << 32 | (u32)task->pid);

	return ids >> 32 && (u32)ids ? ids : 0;
}
