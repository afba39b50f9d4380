/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/calls_x86.bpf.h - the part of bpf/resource.bpf.h for x86-64: asm/unistd_64.h. */
#pragma once

/* The instruction syscall leaves its own place in rcx: what a fault has in orig_ax is no call. */
static __always_inline u32 call_of(
	struct task_struct *task, const arch_user_regs *regs, u64 *args)
{
	(void)task;
	args[0] = regs->di;
	args[1] = regs->si;
	if (regs->cs != ARCH_USER_CS_64 || regs->cx != regs->ip)
		return CALL_OTHER;
	switch (regs->orig_ax) {
	case 0: /* read */
	case 1: /* write */
	case 17: /* pread64 */
	case 18: /* pwrite64 */
	case 19: /* readv */
	case 20: /* writev */
	case 42: /* connect */
	case 43: /* accept */
	case 44: /* sendto */
	case 45: /* recvfrom */
	case 46: /* sendmsg */
	case 47: /* recvmsg */
	case 72: /* fcntl */
	case 73: /* flock */
	case 74: /* fsync */
	case 75: /* fdatasync */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
		return CALL_FILE;
	case 7: /* poll */
	case 271: /* ppoll */
		return CALL_POLL;
	case 23: /* select */
	case 270: /* pselect6 */
		return CALL_SELECT;
	case 202: /* futex */
		return CALL_FUTEX;
	}
	return CALL_OTHER;
}
