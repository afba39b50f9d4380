/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_faults.h - kernels that lock up or panic because of what the BPF program does.
 * Nothing but this reads the kernel's version, and a version counts only together with a probe:
 * distributions backport repairs, and many faults need an option of the kernel's configuration. */
#pragma once

struct btf;

/* While root's file of this name exists, such a kernel is taken as it is. */
#define KERNEL_FAULTS_ACCEPTED "/etc/stoker/any-kernel"

/* The fault of the kernel with this release and version (uname -r, uname -v), with what to do;
 * NULL: none is known. types: its BTF; NULL: unknown, then the version decides. */
const char *kernel_faults_find(const char *release, const char *version, const struct btf *types);

/* The fault of the running kernel, if it is not accepted; else NULL. */
const char *kernel_faults_here(void);
