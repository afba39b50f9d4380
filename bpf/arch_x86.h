/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/arch_x86.h - the walk's constants and register access for x86-64. For BPF and the host. */
#pragma once

/* DWARF register numbers: psABI §3.6.2. */
#define ARCH_DWARF_FP 6
#define ARCH_DWARF_SP 7
#define ARCH_GPRS 16
/* rax rdx rcx rsi rdi r8..r11, one bit each: calls may change them (psABI §3.2.1). */
#define ARCH_SCRATCH 0xf37U

/* The registers of sigcontext. The signal restorer's sp points at ucontext; gregs start 40 bytes in
 * (asm/sigcontext.h), in this order of DWARF numbers, then the pc. */
#define ARCH_SIGNAL_REGS_AT 40
#define ARCH_SIGNAL_REGS 16
#define ARCH_SIGNAL_ORDER                                            \
	{                                                            \
		8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7 \
	}

/* Return addresses are not signed on x86-64. */
#define arch_code_address(addr) (addr)

/* From sp after a return down to the word of the stack that held the address. */
#define ARCH_RETURN_SLOT 8

/* HotSpot's interpreter: the register with the place in the bytecode; its frame is read from this
 * far below the frame pointer on, where that place is, but in version 8, which has it in this word
 * of those. */
#define ARCH_REG_BYTECODE 13
#define ARCH_INTERPRETER_BELOW 64
#define ARCH_INTERPRETER_BYTECODE_8 1

#ifdef __bpf__
#define ARCH_USER_CS_64 0x33
#define ARCH_KERNEL_STACK_BYTES 16384

typedef struct pt_regs arch_user_regs;

static __always_inline bool arch_user_mode(const arch_user_regs *regs)
{
	return regs->cs & 3;
}

static __always_inline bool arch_compat(const arch_user_regs *regs)
{
	return regs->cs != ARCH_USER_CS_64;
}

/* The trampoline of return probes: int3, or since 6.11 (uretprobe_trampoline_entry)
 *     push %rax; push %rcx; push %r11; mov $335,%rax; syscall; pop %r11; pop %rcx; ret
 * By its first byte and the offset of pc: the number of words that it has pushed. */
static __always_inline u32 arch_uprobe_pushed(u8 first, u64 offset)
{
	if (first != 0x50 || offset == 0)
		return 0;
	if (offset < 4)
		return offset == 1 ? 1 : 2;
	return offset < 15 ? 3 : offset < 16 ? 2 : 1;
}

/* After the system call: the address is in the word that was pushed first. */
static __always_inline bool arch_uprobe_answered(u8 first, u64 offset)
{
	return first == 0x50 && offset >= 13;
}

/* Copies all general registers by DWARF number. volatile: the compiler must not merge these loads
 * with loads elsewhere, because the verifier rejects a modified ctx pointer. */
static __always_inline void arch_take(struct unwind_regs *out, const volatile arch_user_regs *regs)
{
	out->pc = regs->ip;
	out->sp = out->gpr[7] = regs->sp;
	out->fp = out->gpr[6] = regs->bp;
	out->gpr[0] = regs->ax;
	out->gpr[1] = regs->dx;
	out->gpr[2] = regs->cx;
	out->gpr[3] = regs->bx;
	out->gpr[4] = regs->si;
	out->gpr[5] = regs->di;
	out->gpr[8] = regs->r8;
	out->gpr[9] = regs->r9;
	out->gpr[10] = regs->r10;
	out->gpr[11] = regs->r11;
	out->gpr[12] = regs->r12;
	out->gpr[13] = regs->r13;
	out->gpr[14] = regs->r14;
	out->gpr[15] = regs->r15;
}
#endif
