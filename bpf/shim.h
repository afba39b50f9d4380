/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/shim.h - what the unwinder needs from its surroundings: BPF helpers in the kernel, functions
 * of the test or of user space elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __bpf__
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* 0 or an error: size bytes of the sampled task's memory. */
#define shim_read_user(dst, size, addr) bpf_probe_read_user(dst, size, (const void *)(addr))
#else
#include <linux/types.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef __s64 s64;
typedef __s32 s32;
typedef __s16 s16;

#define __always_inline inline __attribute__((always_inline))
/* Provided by whoever includes unwind.bpf.h on the host. */
int shim_read_user(void *dst, u32 size, u64 addr);
#endif
