/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_deferred.h - the part of bpf/abi.h for deferred samples: their walk waits for a table. */
#pragma once

#define DEFERRED_STACK_BYTES 16384
#define DEFERRED_GPRS 32

/* A deferred sample: its walk met a file without a table. User space finishes the walk from
 * this. */
struct event_deferred {
	__u32 kind;
	__u32 task;
	__u64 kernel_stack;
	__u64 start_ns;
	__u32 tgid;
	__u32 cpu;         /* same as in struct count_key */
	__u64 pc, sp, fp;  /* registers where the walk stopped */
	__u64 start_stack; /* sp at the process's entry point */
	__u64 gpr[DEFERRED_GPRS];
	__u32 exact;
	__u16 frames_len; /* frames that are already walked */
	__u8 anon;
	__u8 pad;
	__u64 frames[STACK_USER_FRAMES_MAX];
	__u32 stack_bytes; /* length of the stack copy, which starts at sp */
	__u32 tick_cpu;
	__u64 time_ns; /* time of the tick; 0: times are not kept */
	__u8 stack[DEFERRED_STACK_BYTES];
};
