/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/calls_arm64.bpf.h - the part of bpf/resource.bpf.h for arm64: asm-generic/unistd.h. */
#pragma once

static __always_inline u32 call_of(
	struct task_struct *task, const arch_user_regs *regs, u64 *args)
{
	const struct pt_regs *entry = regs_saved_at(task);

	args[0] = regs->regs[0];
	args[1] = regs->regs[1];
	if (arch_compat(regs))
		return CALL_OTHER;
	switch (BPF_CORE_READ(entry, syscallno)) {
	case 25: /* fcntl */
	case 32: /* flock */
	case 63: /* read */
	case 64: /* write */
	case 65: /* readv */
	case 66: /* writev */
	case 67: /* pread64 */
	case 68: /* pwrite64 */
	case 69: /* preadv */
	case 70: /* pwritev */
	case 82: /* fsync */
	case 83: /* fdatasync */
	case 202: /* accept */
	case 203: /* connect */
	case 206: /* sendto */
	case 207: /* recvfrom */
	case 211: /* sendmsg */
	case 212: /* recvmsg */
	case 242: /* accept4 */
	case 243: /* recvmmsg */
	case 269: /* sendmmsg */
	case 286: /* preadv2 */
	case 287: /* pwritev2 */
		return CALL_FILE;
	case 73: /* ppoll */
		return CALL_POLL;
	case 72: /* pselect6 */
		return CALL_SELECT;
	case 98: /* futex */
		return CALL_FUTEX;
	}
	return CALL_OTHER;
}
