/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/file_key.bpf.h - the key of a file that user space has open or has mapped, read from the same
 * inode that a tick would read it from. stat(2) cannot give it: it has no generation, and overlayfs
 * and btrfs report devices of their own. User space runs the program; no event does. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/mapping.bpf.h"
#include "bpf/view.bpf.h"

struct file_answer file_answer = {};

/* NULL: the descriptor is not open. */
static __always_inline struct file *file_of_fd(u64 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

static __always_inline struct file *file_of_mapping(u64 addr)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct vm_area_struct *vma =
		(void *)mapping_at((u64)BPF_CORE_READ(task, mm), addr, ASKER_SCAN);

	return vma ? BPF_CORE_READ(vma, vm_file) : NULL;
}

/* args: a descriptor of the caller, and an address of its own or 0, which counts then. */
SEC("raw_tp")
int file_ask(struct bpf_raw_tracepoint_args *ctx)
{
	u64 fd = ctx->args[0], addr = ctx->args[1];
	struct file *file = addr ? file_of_mapping(addr) : file_of_fd(fd);
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
