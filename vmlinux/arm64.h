/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vmlinux/arm64.h - what differs on arm64. */
#pragma once

/* User ABI: fixed by asm/ptrace.h, so no CO-RE. The kernel's pt_regs begins with it. */
struct user_pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	s32 syscallno; /* -1: it entered the kernel otherwise */
} CORE;

struct bpf_perf_event_data {
	struct user_pt_regs regs;
	u64 sample_period;
	u64 addr;
};

typedef struct {
	void *vdso;
} CORE mm_context_t;

struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
} CORE;

struct task_struct___thread {
	struct thread_struct thread;
} CORE;
