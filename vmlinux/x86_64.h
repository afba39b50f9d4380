/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vmlinux/x86_64.h - what differs on x86-64. */
#pragma once

/* User ABI: fixed by asm/ptrace.h, so no CO-RE. The kernel keeps it at the top of a task's stack.
 */
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	u64 ax, cx, dx, si, di, orig_ax;
	u64 ip, cs, flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period;
	u64 addr;
};

typedef struct {
	void *vdso;
} CORE mm_context_t;

struct thread_struct {
	unsigned long fsbase;
} CORE;

struct task_struct___thread {
	struct thread_struct thread;
} CORE;
