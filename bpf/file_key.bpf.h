/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/file_key.bpf.h - the key of a file that user space has open or has mapped, read from the same
 * inode that a tick would read it from. stat(2) cannot give it: it has no generation, and overlayfs
 * and btrfs report devices of their own. User space runs the program; no event does. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/mapping.bpf.h"
#include "bpf/pidns.bpf.h"
#include "bpf/view.bpf.h"

#define FILE_CHILDREN_MAX 128 /* of the agent */

struct file_answer file_answer = {};

/* The caller's child with this pid, as a number; 0: it has none. Not static, so that the loop is
 * verified once. */
__noinline u64 file_child(u32 pid)
{
	struct task_struct *parent = (void *)bpf_get_current_task();
	struct list_head *head =
		(void *)parent + bpf_core_field_offset(struct task_struct, children);
	struct list_head *at = BPF_CORE_READ(head, next);

	for (u32 i = 0; i < FILE_CHILDREN_MAX && at && at != head; i++) {
		struct task_struct *task =
			(void *)at - bpf_core_field_offset(struct task_struct, sibling);

		if (pidns_tgid(task) == pid)
			return (u64)task;
		at = BPF_CORE_READ(at, next);
	}
	return 0;
}

static __always_inline struct file *file_of_mapping(u64 addr, u32 pid)
{
	struct task_struct *task = (void *)(pid ? file_child(pid) : bpf_get_current_task());
	struct vm_area_struct *vma =
		task ? vma_find(BPF_CORE_READ(task, mm), addr, ASKER_SCAN) : NULL;

	return vma ? BPF_CORE_READ(vma, vm_file) : NULL;
}

/* args: a descriptor of the caller; an address, or 0: if it is not 0, it counts; the pid of a child
 * of the caller whose address it is, or 0: it is the caller's. */
SEC("raw_tp")
int file_ask(struct bpf_raw_tracepoint_args *ctx)
{
	u64 fd = ctx->args[0], addr = ctx->args[1];
	struct file *file = addr ? file_of_mapping(addr, (u32)ctx->args[2])
				 : file_of_fd((void *)bpf_get_current_task(), fd);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	file_answer.found = 0;
	if (!inode)
		return 0;
	object_read_key(&file_answer.key, inode);
	view_read(&file_answer.view, BPF_CORE_READ(file, f_path.mnt),
		BPF_CORE_READ(file, f_path.dentry));
	file_answer.magic = BPF_CORE_READ(inode, i_sb, s_magic);
	file_answer.found = 1;
	return 0;
}
