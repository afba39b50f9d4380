/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/view.bpf.h - the root folder of a process, with the mount namespace that it belongs to. The
 * number of a namespace (inum) is used again when it has gone; the number here never is. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/slot.bpf.h"

/* The number of a mount's namespace. Not static, so that callers do not pay for its stack. */
__noinline u64 view_mounts(u64 vfsmount)
{
	struct mount *mount = (void *)(vfsmount - bpf_core_field_offset(struct mount, mnt));
	struct mnt_namespace___numbered *numbered = NULL;
	struct ns_common___numbered *common = NULL;
	struct mnt_namespace *ns;

	if (!vfsmount)
		return 0;
	ns = BPF_CORE_READ(mount, mnt_ns);
	if (bpf_core_field_exists(numbered->seq))
		return BPF_CORE_READ((struct mnt_namespace___numbered *)ns, seq);
	if (!bpf_core_field_exists(common->ns_id))
		return 0;
	common = (void *)ns + bpf_core_field_offset(struct mnt_namespace, ns);
	return BPF_CORE_READ(common, ns_id);
}

static __always_inline void view_read(
	struct file_view *view, struct vfsmount *mount, struct dentry *root)
{
	struct inode *inode = BPF_CORE_READ(root, d_inode);

	view->mounts = view_mounts((u64)mount);
	view->ino = BPF_CORE_READ(inode, i_ino);
	view->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	view->place = mix(stacks_secret, (u64)inode) >> 32;
}

static __always_inline void view_of_task(struct file_view *view, struct task_struct *task)
{
	view_read(view, BPF_CORE_READ(task, fs, root.mnt), BPF_CORE_READ(task, fs, root.dentry));
}
