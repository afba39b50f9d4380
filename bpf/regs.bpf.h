/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/regs.bpf.h - the user registers of a tick, whichever mode it interrupted. */
#pragma once

#include "bpf/shim.h"
#include "bpf/unwind.bpf.h"

#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010

#if defined(__TARGET_ARCH_x86)
#define USER_CS_64 0x33
#define KERNEL_STACK_BYTES 16384

static __always_inline bool regs_user_mode(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

static __always_inline bool regs_compat(const struct pt_regs *regs)
{
	return regs->cs != USER_CS_64;
}

static __always_inline void regs_take(struct unwind_regs *out, const volatile struct pt_regs *regs)
{
	out->pc = regs->ip;
	out->sp = regs->sp;
	out->fp = regs->bp;
}

typedef struct pt_regs user_regs_t;
#elif defined(__TARGET_ARCH_arm64)
#define KERNEL_STACK_BYTES 16384
#define PSTATE_MODE_MASK 0xf
#define PSTATE_COMPAT 0x10

static __always_inline bool regs_user_mode(const struct user_pt_regs *regs)
{
	return (regs->pstate & PSTATE_MODE_MASK) == 0;
}

static __always_inline bool regs_compat(const struct user_pt_regs *regs)
{
	return regs->pstate & PSTATE_COMPAT;
}

static __always_inline void regs_take(
	struct unwind_regs *out, const volatile struct user_pt_regs *regs)
{
	out->pc = regs->pc;
	out->sp = regs->sp;
	out->fp = regs->regs[29];
}

typedef struct user_pt_regs user_regs_t;
#endif

/* Where the kernel saved the user registers when the task entered it. */
static __always_inline const void *regs_saved_at(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(task);
	return task->stack + KERNEL_STACK_BYTES - bpf_core_type_size(struct pt_regs);
}

/* END_NONE and *out, or why there are none. */
static __always_inline u32 regs_user(struct bpf_perf_event_data *ctx, struct task_struct *task,
	user_regs_t *scratch, struct unwind_regs *out)
{
	if (regs_user_mode(&ctx->regs)) {
		if (regs_compat(&ctx->regs))
			return END_COMPAT;
		regs_take(out, &ctx->regs);
		/* Keeps the compiler from sharing the loads below with these: a moved ctx pointer
		 * is not verifiable. */
		asm volatile("" ::: "memory");
		return END_NONE;
	}
	if (task->flags & PF_IO_WORKER)
		return END_NO_REGS;
	if (bpf_probe_read_kernel(scratch, sizeof(*scratch), regs_saved_at(task)))
		return END_NO_REGS;
	if (!regs_user_mode(scratch))
		return END_NO_REGS;
	if (regs_compat(scratch))
		return END_COMPAT;
	regs_take(out, scratch);
	return END_NONE;
}
