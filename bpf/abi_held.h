/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_held.h - the part of bpf/abi.h that is about samples whose walk waits for a table. */
#pragma once

#define HELD_STACK_BYTES 16384
#define HELD_GPRS 32

/* A sample that stopped at a file without a table: what user space needs to finish the walk. */
struct event_held {
	__u32 kind;
	__u32 who;
	__u64 kernel_stack;
	__u64 start_ns;
	__u32 tgid;
	__u32 cpu;         /* as in struct count_key */
	__u64 pc, sp, fp;  /* where the walk stopped */
	__u64 start_stack; /* sp at the process's entry */
	__u64 gpr[HELD_GPRS];
	__u32 exact;
	__u16 frames_len; /* above that place, already walked */
	__u8 anon;
	__u8 pad;
	__u64 frames[STACK_USER_FRAMES_MAX];
	__u32 stack_bytes; /* from sp on */
	__u32 tick_cpu;
	__u64 time_ns; /* of the tick; 0: times are not kept */
	__u8 stack[HELD_STACK_BYTES];
};
