/* SPDX-License-Identifier: Apache-2.0 */
/* What bpf/walk.bpf.h needs of the BPF side, for the host: types of the kernel cut down to what is
 * touched, and the scratch struct. The walk itself is the real one. */
#pragma once

#include <string.h>

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/unwind.bpf.h"
#include "space.h"

struct mm_struct {
	u64 start_stack;
};

struct task_struct {
	struct mm_struct *mm;
	u32 flags;
};

typedef struct {
	struct unwind_regs unwind;
	u64 ax, orig_ax;
} arch_user_regs;

struct bpf_perf_event_data {
	arch_user_regs regs;
};

struct walk_mapping {
	u64 start, file_offset;
	u32 kind, object, table;
	const struct mapping *mapping;
};

struct scratch {
	struct unwind_regs regs;
	arch_user_regs saved;
	struct unwind_window window;
	struct walk_mapping at;
	struct mm_struct *mm;
	u64 user_hash, user_rest, kernel_hash, kernel_rest;
	u64 searched;
	u32 end;
	struct who_key who;
	struct {
		struct event_stack head;
		u64 frames[STACK_USER_FRAMES_MAX];
	} user;
	struct {
		struct event_stack head;
		u64 frames[STACK_KERNEL_FRAMES_MAX];
	} kernel;
	struct unwind_rule rule;
	struct space *space;
};

/* The rule at an offset of s->at's file; *rule stays NULL where there is no function. */
static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule);
static u32 mapping_find(struct scratch *s, u64 pc);
static int read_sampled(void *dst, u32 size, u64 addr);

static struct scratch scratches;

#define __noinline static __attribute__((noinline))
#define bpf_map_lookup_elem(map, key) (*(key) == 0 ? (map) : NULL)
#define TASK_READ(task, field) ((task)->field)
#define BPF_CORE_READ(from, field) ((from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((void)(from), 0)
#define bpf_probe_read_user(dst, size, addr) read_sampled(dst, size, (u64)(addr))
#define bpf_get_stack(ctx, to, size, flags) 0L
#define mappings_check(s, task, mm)
