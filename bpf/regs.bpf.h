/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/regs.bpf.h - the user registers at a tick, in kernel or user mode. */
#pragma once

#include "bpf/shim.h"
#include "bpf/unwind.bpf.h"

#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010

/* Where the kernel saved the user registers at entry. */
static __always_inline const void *regs_saved_at(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(task);
	return TASK_READ(task, stack) + ARCH_KERNEL_STACK_BYTES -
		bpf_core_type_size(struct pt_regs);
}

/* Registers of a task at its entry to the kernel; the task is the current one, or has no CPU. As
 * regs_user. */
static __always_inline u32 regs_at_entry(
	struct task_struct *task, arch_user_regs *scratch, struct unwind_regs *out)
{
	out->exact = 1;
	if (TASK_READ(task, flags) & PF_IO_WORKER)
		return END_NO_REGS;
	if (bpf_probe_read_kernel(scratch, sizeof(*scratch), regs_saved_at(task)))
		return END_NO_REGS;
	if (!arch_user_mode(scratch))
		return END_NO_REGS;
	arch_take(out, scratch);
	return arch_compat(scratch) ? END_COMPAT : END_NONE;
}

/* END_NONE and *out, or the reason. END_COMPAT: 32-bit code, and *out has its place. */
static __always_inline u32 regs_user(struct bpf_perf_event_data *ctx, struct task_struct *task,
	arch_user_regs *scratch, struct unwind_regs *out)
{
	u32 compat;

	out->exact = 1;
	if (arch_user_mode(&ctx->regs)) {
		/* Read here: merged with the read below it would be of a modified ctx pointer,
		 * which the verifier rejects. */
		compat = arch_compat(&ctx->regs);
		asm volatile("" : "+r"(compat) : : "memory");
		arch_take(out, &ctx->regs);
		asm volatile("" ::: "memory");
		return compat ? END_COMPAT : END_NONE;
	}
	return regs_at_entry(task, scratch, out);
}
