/* SPDX-License-Identifier: Apache-2.0 */
/* For the host: the registers are those that the stepper read. */
#pragma once

#include "bpf/unwind_maps.bpf.h"

#define PF_KTHREAD 0x00200000

/* A stop is between two instructions: never in a system call. */
static inline bool arch_user_mode(const arch_user_regs *regs)
{
	return regs->unwind.exact != 0;
}

static inline u32 regs_user(struct bpf_perf_event_data *ctx, struct task_struct *task,
	arch_user_regs *scratch, struct unwind_regs *out)
{
	(void)task, (void)scratch;
	*out = ctx->regs.unwind;
	return END_NONE;
}
