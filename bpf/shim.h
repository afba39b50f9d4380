/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/shim.h - the unwinder's environment: BPF helpers in the kernel, functions of the includer on
 * the host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL
#define NOT_UNROLLED
#endif

#ifdef __bpf__
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/abi.h"

/* The sampled task. Linux 5.11 and up give a typed pointer with readable fields; before, a helper
 * reads them. The verifier follows only the half that the kernel supports. */
#define TASK_TYPED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)
#define TASK_READ(task, field) (TASK_TYPED ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline struct task_struct *task_current(void)
{
	if (TASK_TYPED)
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* A walk's own, unless the program that includes this is not run by the task that it walks:
 *     shim_read_user(memory, dst, size, addr)  0 or an error: reads size bytes of the task's memory
 *     walk_task()                              the task
 *     walk_number()                            walks of one number do not overlap: ids are by it
 *     WALK_OBJECT_IDS                          a struct object_id_range */
#ifndef shim_read_user
#define shim_read_user(memory, dst, size, addr) bpf_probe_read_user(dst, size, (const void *)(addr))
#define walk_task() ((struct task_struct *)bpf_get_current_task())
#define walk_number() bpf_get_smp_processor_id()
#define WALK_OBJECT_IDS                                                  \
	{                                                                \
		0, id_stride, bpf_get_smp_processor_id(), OBJECT_SCAN_FIRST \
	}
#endif

/* One page's data in a slab. Masks keep every read inside the slab. */
struct shim_rows {
	const u8 *slab;
	u32 base;
};

static __always_inline u32 shim_rows_u8(const struct shim_rows *rows, u32 at)
{
	return rows->slab[(rows->base + at) & (ROWS_SLAB_BYTES - 1)];
}

static __always_inline u32 shim_rows_u16(const struct shim_rows *rows, u32 at)
{
	return *(const u16 *)(rows->slab + ((rows->base + at) & (ROWS_SLAB_BYTES - 2)));
}
#else
#include <linux/types.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef __s64 s64;
typedef __s32 s32;
typedef __s16 s16;

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The includer of unwind.bpf.h defines it on the host; memory is the window's. */
static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr);

/* One page's data; reads outside give 0. */
struct shim_rows {
	const u8 *data;
	u32 size;
};

static __always_inline u32 shim_rows_u8(const struct shim_rows *rows, u32 at)
{
	return at < rows->size ? rows->data[at] : 0;
}

static __always_inline u32 shim_rows_u16(const struct shim_rows *rows, u32 at)
{
	return shim_rows_u8(rows, at) | shim_rows_u8(rows, at + 1) << 8;
}
#endif
