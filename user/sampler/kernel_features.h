/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_features.h - what this kernel offers to the BPF program. Its types (BTF) and
 * probes say so, and never its version: distributions give old versions new features. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define KERNEL_FEATURES_BTF "/sys/kernel/btf/vmlinux"

struct btf;

/* Where a process's mappings are found. */
enum kernel_tree {
	KERNEL_TREE_UNKNOWN,
	KERNEL_TREE_RED_BLACK,
	KERNEL_TREE_MAPLE,
};

/* The number of changes to a process's mappings, as bpf/vma.bpf.h reads it. */
enum kernel_lock_seq {
	KERNEL_LOCK_SEQ_NONE,
	KERNEL_LOCK_SEQ_INT,
	KERNEL_LOCK_SEQ_SEQCOUNT,
};

struct kernel_features {
	const char *missing; /* a field that the program cannot do without; NULL: it has all */
	bool ring_buffer;
	bool iterates_tasks, iterates_mappings; /* BPF iterators */
	bool locks_maps; /* BPF maps count as locked memory, which has a limit */
	enum kernel_tree tree;
	enum kernel_lock_seq lock_seq;
};

enum kernel_probe {
	KERNEL_PROBE_ACCEPTED,
	KERNEL_PROBE_REFUSED,
	KERNEL_PROBE_NOT_PRIVILEGED, /* CAP_BPF and CAP_PERFMON are needed to ask */
};

/* By the kernel's types. */
void kernel_features_parse(const struct btf *types, struct kernel_features *out);

/* By the types of the running kernel. */
int kernel_features_load(struct kernel_features *out, struct why *why);

/* What cannot be read from types, because configuration or a seccomp filter decides it: whether the
 * kernel takes a BPF program for perf events and a ring buffer. */
enum kernel_probe kernel_features_probe(void);

/* The iterator over tasks finds mappings by the list that only kernels with a red-black tree have.
 */
bool kernel_features_can_scan(const struct kernel_features *features);

/* The likely cause of an EPERM when programs or maps are loaded, and the remedy. */
const char *kernel_features_forbidden(const struct kernel_features *features);
