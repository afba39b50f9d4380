/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vmlinux/vmlinux.h - the kernel types that our BPF programs read, and of those only the fields
 * they read. libbpf moves each access to where the running kernel has the field (CO-RE), so order
 * and size here mean nothing. A name with ___suffix is the same kernel type in another age.
 * tools/gen-vmlinux checks every field against a kernel's BTF. */
#pragma once

#include <linux/bpf.h>

#define CORE __attribute__((preserve_access_index))

typedef __s64 s64;
typedef __u64 u64;
typedef __s32 s32;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;

#if defined(__TARGET_ARCH_x86)
#include "vmlinux/x86_64.h"
#elif defined(__TARGET_ARCH_arm64)
#include "vmlinux/arm64.h"
#else
#error "no vmlinux header for this architecture"
#endif

/* 6.1 and up: a process's mappings are in a maple tree. */
struct maple_tree {
	void *ma_root;
} CORE;

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
} CORE;

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
} CORE;

struct seqcount {
	unsigned int sequence;
} CORE;
typedef struct seqcount seqcount_t;

/* 6.13 and up, and later releases of 6.12: raised whenever the mappings are locked for writing. */
struct mm_struct {
	struct maple_tree mm_mt;
	mm_context_t context;
	unsigned long task_size;
	seqcount_t mm_lock_seq;
} CORE;

/* The tables of its pages. */
struct mm_struct___pages {
	void *pgd;
} CORE;

typedef struct {
	s64 counter;
} CORE atomic_long_t;

struct rw_semaphore {
	atomic_long_t count;
} CORE;

/* 6.4 and up, before it became a seqcount: raised when a change to the mappings ends. */
struct mm_struct___int_seq {
	int mm_lock_seq;
	struct rw_semaphore mmap_lock;
} CORE;

/* Up to 6.0: a red-black tree. */
struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} CORE;

struct rb_root {
	struct rb_node *rb_node;
} CORE;

struct vm_area_struct___rb;
struct mm_struct___rb {
	struct vm_area_struct___rb *mmap;
	struct rb_root mm_rb;
} CORE;

struct vm_area_struct___rb {
	struct vm_area_struct___rb *vm_next;
	struct rb_node vm_rb;
} CORE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	const void *vm_ops;
	struct file *vm_file;
} CORE;

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct user_namespace *s_user_ns;
} CORE;

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
} CORE;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	const unsigned int i_nlink;
	u32 i_generation;
	unsigned short i_mode;
} CORE;

/* 6.11 and up. */
struct inode___split_time {
	s64 i_mtime_sec;
	u32 i_mtime_nsec;
} CORE;

/* 6.7 to 6.10. */
struct inode___hidden_time {
	struct timespec64 __i_mtime;
} CORE;

/* Up to 6.6. */
struct inode___plain_time {
	struct timespec64 i_mtime;
} CORE;

struct qstr {
	u32 len;
	const unsigned char *name;
} CORE;

struct dentry {
	const struct qstr d_name;
	struct inode *d_inode;
	struct dentry *d_parent;
} CORE;

struct vfsmount {
	struct dentry *mnt_root;
	int mnt_flags;
} CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;

struct fs_struct {
	struct path root;
} CORE;

struct ns_common {
	unsigned int inum;
} CORE;

/* 6.18 and up. */
struct ns_common___numbered {
	u64 ns_id;
} CORE;

/* 6.18 and up: its number is that of its ns_common. */
struct mnt_namespace {
	struct ns_common ns;
} CORE;

struct mnt_namespace___numbered {
	u64 seq;
} CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
} CORE;

struct file {
	struct inode *f_inode;
	const struct path f_path;
	void *private_data;
} CORE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;

struct files_struct {
	struct fdtable *fdt;
} CORE;

struct list_head {
	struct list_head *next;
} CORE;

struct task_struct {
	unsigned int flags;
	void *stack;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct list_head children;
	struct list_head sibling;
	struct task_struct *group_leader;
	u64 start_boottime;
	u64 self_exec_id;
	struct css_set *cgroups;
	struct pid *thread_pid;
	struct files_struct *files;
	struct fs_struct *fs;
} CORE;

/* With CONFIG_UPROBES. */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} CORE;

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;
	unsigned long xol_vaddr;
} CORE;

struct task_struct___uprobes {
	struct uprobe_task *utask;
} CORE;

struct xol_area {
	unsigned long vaddr;
} CORE;

struct uprobes_state {
	struct xol_area *xol_area;
} CORE;

struct mm_struct___uprobes {
	struct uprobes_state uprobes_state;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[];
} CORE;

struct kernfs_node {
	u64 id;
} CORE;

struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CORE;

struct cgroup_root {
	int hierarchy_id;
} CORE;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
} CORE;

struct css_set {
	struct cgroup_subsys_state *subsys[12];
	struct cgroup *dfl_cgrp;
} CORE;

/* Which there are, and their numbers, are the kernel's own. */
enum cgroup_subsys_id {
	pids_cgrp_id,
	cpu_cgrp_id,
	cpuacct_cgrp_id,
	devices_cgrp_id,
	freezer_cgrp_id,
	io_cgrp_id,
	cpuset_cgrp_id,
	perf_event_cgrp_id,
	net_cls_cgrp_id,
	memory_cgrp_id,
	hugetlb_cgrp_id,
};

struct linux_binprm {
	struct file *file;
} CORE;

struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
} CORE;
