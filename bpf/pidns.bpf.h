/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/pidns.bpf.h - translates pids into stoker's pid namespace. In a container the kernel's global
 * pids mean nothing to user space; tasks that have no pid there are not sampled. */
#pragma once

#include "bpf/shim.h"

#define PIDNS_DEPTH_MAX 16

const volatile __u32 pidns_inum = 0; /* inode number of the namespace; 0: the host's */

/* Global, so that the verifier checks it once. 0: no pid in this namespace. */
__noinline u32 pidns_number(u64 pid)
{
	u64 numbers = pid + bpf_core_field_offset(struct pid, numbers);
	u32 level = BPF_CORE_READ((struct pid *)pid, level);

	for (u32 i = 0; i < PIDNS_DEPTH_MAX; i++) {
		struct upid *upid = (void *)(numbers + i * bpf_core_type_size(struct upid));

		if (i > level)
			break;
		if (BPF_CORE_READ(upid, ns, ns.inum) == pidns_inum)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

static __always_inline u32 pidns_tgid(struct task_struct *task)
{
	u64 pid;

	if (!pidns_inum)
		return BPF_CORE_READ(task, tgid);
	pid = (u64)BPF_CORE_READ(task, group_leader, thread_pid);
	return pid ? pidns_number(pid) : 0;
}

/* The current task, in the format of bpf_get_current_pid_tgid(); 0: not visible. */
static __always_inline u64 pidns_current(struct task_struct *task, u64 id)
{
	u64 pid, tgid;

	if (!pidns_inum)
		return id;
	tgid = pidns_tgid(task);
	pid = (u64)BPF_CORE_READ(task, thread_pid);
	return tgid && pid ? tgid << 32 | pidns_number(pid) : 0;
}
