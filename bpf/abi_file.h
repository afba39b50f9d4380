/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_file.h - the part of bpf/abi.h for opened files, and for the files that a process can
 * see.
 */
#pragma once

/* The root folder of a process. In processes with the same root, a path leads to the same file. */
struct file_view {
	__u64 mounts; /* number of the root's mount namespace, never used twice; 0: unknown */
	__u64 ino;
	__u32 dev; /* as in struct object_key */
	__u32 place; /* hash of the address of the folder's inode */
};

/* A file that user space has open or has mapped, as bpf/file_key.bpf.h reads it. */
struct file_answer {
	struct object_key key;
	struct file_view view; /* of a folder: that of a process whose root it is */
	__u64 magic;           /* of its file system */
	__u64 found;           /* 0: there is no such file */
};

/* The cgroup and the root of a task. User space keeps those that it knows in a map: new tasks of
 * them do not wake it. */
struct task_place {
	__u64 cgroup;
	struct file_view view;
};
