/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/unwind.bpf.h - one step up the user stack. No maps and no SEC: compiles for the host too. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"

struct unwind_regs {
	u64 pc;
	u64 sp;
	u64 fp;
};

/* The step of code that keeps a chain of frame pointers: [fp] is the caller's fp, [fp + 8] the
 * return address (x86-64 psABI §3.2.2, AAPCS64 §6.2.3). A frame must lie above what is in use; a
 * zero return address or frame pointer is how the outermost frame is marked.
 * END_NONE to go on, or why the walk ends; regs are changed only on END_NONE. */
static __always_inline u32 unwind_fp_step(struct unwind_regs *regs)
{
	struct {
		u64 fp;
		u64 pc;
	} frame;

	if (regs->fp == 0)
		return END_ROOT;
	if (regs->fp < regs->sp || (regs->fp & 7))
		return END_FP_CHAIN;
	if (shim_read_user(&frame, sizeof(frame), regs->fp))
		return END_STACK_READ;
	if (frame.pc == 0)
		return END_ROOT;
	regs->sp = regs->fp + sizeof(frame);
	regs->fp = frame.fp;
	regs->pc = frame.pc;
	return END_NONE;
}
