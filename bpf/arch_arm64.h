/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/arch_arm64.h - the walk's constants and register access for arm64. For BPF and the host. */
#pragma once

/* DWARF register numbers: "DWARF for the Arm 64-bit Architecture" §4.1. */
#define ARCH_DWARF_FP 29
#define ARCH_DWARF_LR 30
#define ARCH_DWARF_SP 31
#define ARCH_GPRS 32
/* x0..x17, one bit each: calls may change them (AAPCS64 §6.1.1). The link register is not in the
 * mask: every call changes it. */
#define ARCH_SCRATCH 0x3ffffU

/* rt_sigframe holds siginfo, then ucontext. Its sigcontext has x0..x30, sp, pc from byte 312 on
 * (asm/sigcontext.h). */
#define ARCH_SIGNAL_REGS_AT 312
#define ARCH_SIGNAL_REGS 32
#define ARCH_SIGNAL_ORDER                                                                         \
	{                                                                                         \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, \
			23, 24, 25, 26, 27, 28, 29, 30, 31                                        \
	}

/* Pointer authentication may sign a return address; user addresses use the low 48 bits. */
#define arch_code_address(addr) ((addr) & ((1ULL << 48) - 1))

/* From sp after a return down to the sp at the function's entry: calls push nothing. */
#define ARCH_RETURN_SLOT 0

/* HotSpot's interpreter, see arch_x86.h. */
#define ARCH_REG_BYTECODE 22
#define ARCH_INTERPRETER_BELOW 72
#define ARCH_INTERPRETER_BYTECODE_8 2
/* Instructions around an interrupted place that are looked at; a power of two. */
#define ARCH_INSNS 64

#ifdef __bpf__
#define ARCH_PSTATE_MODE 0xf
#define ARCH_PSTATE_COMPAT 0x10
#define ARCH_KERNEL_STACK_BYTES 16384

typedef struct user_pt_regs arch_user_regs;

static __always_inline bool arch_user_mode(const arch_user_regs *regs)
{
	return (regs->pstate & ARCH_PSTATE_MODE) == 0;
}

static __always_inline bool arch_compat(const arch_user_regs *regs)
{
	return regs->pstate & ARCH_PSTATE_COMPAT;
}

/* The trampoline of return probes is one brk: it pushes nothing. */
static __always_inline u32 arch_uprobe_pushed(u8 first, u64 offset)
{
	(void)first, (void)offset;
	return 0;
}

static __always_inline bool arch_uprobe_answered(u8 first, u64 offset)
{
	(void)first, (void)offset;
	return false;
}

/* volatile: see arch_x86.h. */
static __always_inline void arch_take(struct unwind_regs *out, const volatile arch_user_regs *regs)
{
	out->pc = regs->pc;
	out->sp = out->gpr[31] = regs->sp;
	out->fp = regs->regs[29];
	/* Unrolled: ctx must be read at constant offsets. */
	UNROLL
	for (int i = 0; i < 31; i++)
		out->gpr[i] = regs->regs[i];
}
#endif
