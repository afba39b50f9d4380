/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_threads.h - the part of bpf/abi.h for bpf/threads.bpf.c: the counters that the kernel
 * keeps of each thread.
 * Two clocks: CLOCK_MONOTONIC, and the scheduler's own, which begins elsewhere. Two values of one
 * clock may be compared, and not two of different ones. */
#pragma once

/* State of a thread at the visit. */
enum thread_class {
	THREAD_RUNNING,  /* on a CPU */
	THREAD_RUNNABLE, /* waits for a CPU: woken or preempted */
	THREAD_SLEEPING, /* waits, and a signal ends it (S) */
	THREAD_DISK,     /* waits, and no signal ends it (D): a disk, a lock in the kernel */
	THREAD_STOPPED,  /* by a signal or a debugger (T, t), parked, or frozen */
	THREAD_THROTTLED, /* as THREAD_RUNNABLE, and its cgroup has used up its quota of CPU time */
	THREAD_CLASSES,
};

/* Flags. */
#define THREAD_IN_IOWAIT 1   /* waits for input or output */
#define THREAD_DELAY_KNOWN 2 /* the kernel counts waits for a CPU */

struct thread_record {
	__u64 start_ns;         /* CLOCK_BOOTTIME; with tid it is unique */
	__u64 process_start_ns; /* of its thread group's leader */
	__u64 cgroup;           /* as in bpf/abi_cgroup.h */
	__u64 run_ns;           /* time on CPUs, up to its CPU's latest update */
	__u64 delay_ns;         /* complete waits for a CPU */
	__u64 voluntary;        /* number of switches in which it began to wait or to sleep */
	__u64 involuntary;      /* number of others */
	__u64 queued_ns;        /* scheduler's clock: waits for a CPU since then; 0: does not */
	__u64 arrived_ns;       /* scheduler's clock: latest time that it got a CPU */
	__u64 updated_ns;       /* scheduler's clock: its CPU's latest update; 0: unknown */
	__u64 now_ns;           /* CLOCK_MONOTONIC: time of the visit */
	__u64 throttled_ns;     /* the quota above it was used up, all CPUs together */
	__u32 tid, tgid;        /* in stoker's pid namespace */
	__u8 class;             /* enum thread_class */
	__u8 flags;
	__u16 pad;
	__u32 quota; /* number of the cgroup that has it; 0: none has one */
	char comm[COMM_LEN];
};

#define THREADS_CPUS_MAX 4096 /* a power of two; CPUs above share places, and count as unknown */

/* A CPU's clocks, as a thread that was there last showed them: both are the scheduler's. */
struct thread_cpu {
	__u64 clock_ns; /* 0: unknown */
	__u64 tasks_ns; /* without the time that was taken from tasks */
	__u32 pass;     /* number of the pass that read them */
	__u32 cpu;
};

_Static_assert(sizeof(struct thread_record) == 128, "thread_record");
_Static_assert(sizeof(struct thread_cpu) == 24, "thread_cpu");
