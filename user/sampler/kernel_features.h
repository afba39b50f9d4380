/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_features.h - features of this kernel that the BPF program depends on. They are
 * read from its types (BTF) and by probes, never from its version: distributions backport
 * features. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define KERNEL_FEATURES_BTF "/sys/kernel/btf/vmlinux"

struct btf;

/* The structure that holds a process's mappings. */
enum kernel_tree {
	KERNEL_TREE_UNKNOWN,
	KERNEL_TREE_RED_BLACK,
	KERNEL_TREE_MAPLE,
};

/* The change counter of a process's mappings, see bpf/vma.bpf.h. */
enum kernel_lock_seq {
	KERNEL_LOCK_SEQ_NONE,
	KERNEL_LOCK_SEQ_INT,
	KERNEL_LOCK_SEQ_SEQCOUNT,
};

struct kernel_features {
	const char *missing; /* a field that the program requires; NULL: none is missing */
	bool ring_buffer;
	bool iterates_tasks, iterates_mappings; /* BPF iterators */
	bool names_code; /* a helper prints the symbol of an address */
	bool locks_maps; /* BPF maps count as locked memory, which has a limit */
	enum kernel_tree tree;
	enum kernel_lock_seq lock_seq;
};

enum kernel_probe {
	KERNEL_PROBE_ACCEPTED,
	KERNEL_PROBE_REFUSED,
	KERNEL_PROBE_NOT_PRIVILEGED, /* asking needs CAP_BPF and CAP_PERFMON */
};

/* From the kernel's types. */
void kernel_features_parse(const struct btf *types, struct kernel_features *out);

/* From the types of the running kernel, which *types becomes, the caller's (NULL: not wanted). */
int kernel_features_load(struct kernel_features *out, struct btf **types, struct why *why);

/* Tests what types cannot show, because configuration or a seccomp filter decides it: does the
 * kernel accept a BPF program for perf events, and a ring buffer? */
enum kernel_probe kernel_features_probe(void);
/* Why it refuses them, for a message. */
const char *kernel_features_refused(void);

/* Can it scan mappings? The iterator over tasks needs the list of mappings that only kernels with a
 * red-black tree have. */
bool kernel_features_can_scan(const struct kernel_features *features);

/* The likely cause of an EPERM on loading programs or maps, and the remedy. */
const char *kernel_features_forbidden(const struct kernel_features *features);
