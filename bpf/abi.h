/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi.h - the structs, ids and limits that kernel and user space share.
 * BPF includes it after vmlinux/vmlinux.h. Every struct's size is asserted. Parts: bpf/abi_*.h. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* A user stack keeps its leaf's frames. The walk goes on: if it reaches the root, FRAME_LEFT_OUT
 * and the root's frames follow. */
#define STACK_LEAF_FRAMES 512 /* power of two, as the next */
#define STACK_ROOT_FRAMES 64
#define STACK_USER_FRAMES_MAX (STACK_LEAF_FRAMES + 1 + STACK_ROOT_FRAMES)
#define STACK_WALK_MAX 2048 /* frames of one walk */
#define STACK_KERNEL_FRAMES_MAX 64
#define COMM_LEN 16
#define OBJECT_NAME_LEN 48
#define KERNEL_NAME_BYTES 1024 /* a symbol, its place and its module, as the kernel prints them */

/* ---- frames: one u64 each, 2 bits of how, 2 bits of kind and 60 bits of value -----------------
 * A user frame that is not the leaf holds its return address minus one: an address inside the call.
 */
enum frame_kind {
	FRAME_CODE = 0,   /* a language's code, and a place in it: bpf/abi_language.h */
	FRAME_KERNEL = 1, /* low 60 bits of a kernel address; sign-extend to get it back */
	FRAME_FILE = 2,   /* object id << 38 | file offset */
	FRAME_ANON = 3,   /* address of JIT code, which no file holds; valid for one process */
};

/* Replaces frames that were walked and not kept: how any of them was reached; no value. */
#define FRAME_LEFT_OUT 0ULL
#define FRAME_IS_LEFT_OUT(frame) (((frame) & ~FRAME_HOW_MASK) == FRAME_LEFT_OUT)

/* How a user frame was reached from the frame below it; neither bit: by a rule, which is exact.
 * User space decides whether a chain counts, as it knows the runtime (agent/guess.h). */
#define FRAME_BY_GUESS (1ULL << 63) /* a word of the stack that may be a return address */
#define FRAME_BY_CHAIN (1ULL << 62) /* along frame pointers, from code without rows */
#define FRAME_HOW_SHIFT 62
#define FRAME_HOW_MASK (FRAME_BY_GUESS | FRAME_BY_CHAIN)
#define FRAME_KIND(frame) ((frame) >> FRAME_KIND_SHIFT & 3)

#define FRAME_KIND_SHIFT 60
#define FRAME_OBJECT_SHIFT 38
#define FRAME_OFFSET_MASK ((1ULL << FRAME_OBJECT_SHIFT) - 1)
#define FRAME_PAYLOAD_MASK ((1ULL << FRAME_KIND_SHIFT) - 1)
#define OBJECT_ID_MAX ((1U << (FRAME_KIND_SHIFT - FRAME_OBJECT_SHIFT)) - 1)

/* Object ids. The vDSO has no file and one id for all 64-bit processes. */
#define OBJECT_NONE 0
#define OBJECT_VDSO 1
#define OBJECT_FIRST 16
#define OBJECT_SCAN_FIRST (1U << 21) /* the scan gives ids from here on, ticks the lower ones */
#define OBJECT_ID_WORDS ((OBJECT_ID_MAX + 1) / 64) /* bits of those in use */

/* ---- counts: (stacks, task key) → number of ticks, and the time that they took ----------
 * The time is the upper half of the value. If times are kept, the lower half holds an id instead
 * of the number, and each tick sends an event with that id. */
#define COUNT_TIME_SHIFT 32
#define COUNT_TIME_UNIT_SHIFT 8 /* 256 ns */
struct count_key {
	__u64 user_stack;   /* hash of the user half; 0: none */
	__u64 kernel_stack; /* hash of the kernel half; 0: none */
	__u32 task;         /* id of a struct task_key */
	__u32 cpu;          /* cpu + 1 if samples are split by CPU, else 0 */
};

/* Slots of the stacks and tasks that user space has (bpf/known.bpf.h). */
#define KNOWN_STACKS_BYTES (512U << 10)
#define KNOWN_TASKS_BYTES (256U << 10)

/* The task key: which task ran. BPF replaces it by an id, so that a count key stays small. */
struct task_key {
	__u64 start_ns; /* the process's start, CLOCK_BOOTTIME: (tgid, start_ns) is never reused */
	__u64 cgroup;   /* as in bpf/abi_cgroup.h */
	__u32 tgid;
	__u32 tid; /* 0 if threads are merged into their process */
	char comm[COMM_LEN];
};

/* One mapped file. mtime separates a new file from an old one with the same inode number. */
struct object_key {
	__u64 ino;
	__u64 mtime_ns;
	__u32 dev;   /* in kernel encoding: major << 20 | minor */
	__u32 place; /* hash of the inode's address, generation and mount's user namespace */
};

#include "bpf/abi_file.h"

/* The tasks to sample. */
enum filter_kind {
	FILTER_NONE = 0,
	FILTER_TGID = 1,   /* processes in the map of targets */
	FILTER_TID = 2,    /* threads in the map of targets */
	FILTER_TREE = 3,   /* processes in the map of targets, and their descendants */
	FILTER_CGROUP = 4, /* tasks of the cgroups in the map of cgroups, and of those below */
};

#include "bpf/abi_ticks.h"

/* Counts of one CPU. Each tick that runs the program is a sample, idle, filtered or lost. */
struct tick_stats {
	__u64 ticks;
	__u64 samples;
	__u64 idle;
	__u64 filtered; /* ticks of tasks outside the target */
	__u64 lost[8];  /* indexed by enum lost_reason */
	__u64 pad;      /* to whole cache lines */

	struct tick_times times[TICK_PARTS]; /* of samples */
};

#define CPU_TICKS_MAX 1024 /* power of two; CPUs with higher numbers share slots */

struct cpu_ticks {
	__u64 ticks;
	__u64 due_ns;    /* time of the next tick, CLOCK_MONOTONIC; user space sets the first */
	__u64 skipped;   /* periods without a tick; the next tick counts them */
	__u64 first;     /* due_ns is the earliest time of the first tick; user space sets it */
	__u64 took_ns;   /* time that the ticks of samples took */
	__u64 bytes_out; /* sent through the ring buffer */
	__u64 pad[2];
};

/* ---- events: sent through the ring buffer, once, and again after a loss ----------------- */
enum event_kind {
	EVENT_STACK = 1,
	EVENT_OBJECT = 2,
	EVENT_TASK = 3,
	EVENT_JIT = 4,      /* first frame of a process in code without a file */
	EVENT_PRESSURE = 5, /* a count map is half full: drain it now */
	EVENT_EXEC = 6,     /* a process started a file that is new to stoker */
	EVENT_PAGE = 7,     /* a page of rows is needed and absent */
	EVENT_DEFERRED = 8, /* a deferred sample: its walk waits for a table */
	EVENT_LEAF = 9,     /* a known stack with a new leaf */
	EVENT_CGROUP = 10,  /* a cgroup was made, removed or renamed */
	EVENT_TICK = 11,    /* one sample with its time */
	EVENT_CODE = 12,    /* a language's code that is sampled for the first time */
};

#define SECOND_SHIFT 30 /* times of use are CLOCK_MONOTONIC >> 30, plus 1: seconds, nearly */
#define TASK_WAKEUP_NS 200000000ULL /* from one EVENT_TASK that wakes user space to the next */

#define EVENT_KINDS_MAX 16 /* power of two; bpf/reasons.h: what each lost kind costs */

/* below_leaf is the hash of all frames except the leaf: most new stacks are a known stack below a
 * new leaf. */
struct event_stack {
	__u32 kind;
	__u16 frames_len;
	__u8 end;  /* enum stack_end; END_NONE for a kernel half */
	__u8 anon; /* frames hold addresses of one process: the hash covers its tgid and start */
	__u64 hash;
	__u64 below_leaf;
	/* followed by frames_len times __u64, leaf first */
};

struct event_leaf {
	__u32 kind;
	__u32 anon;
	__u64 hash;
	__u64 below_leaf;
	__u64 frame;
};

struct event_tick {
	__u32 kind;
	__u32 id;      /* id of a struct count_key */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 cpu;
	__u32 pad;
};

struct event_object {
	__u32 kind;
	__u32 id;
	struct object_key key;
	__u64 start_ns; /* start of the process that mapped it */
	__u64 cgroup;   /* of that process, as in bpf/abi_cgroup.h */
	__u64 vm_start;
	__u64 vm_end;
	__u64 file_offset; /* file offset of vm_start */
	__u32 tgid;
	char name[OBJECT_NAME_LEN]; /* the file's own, cut; where it is mounted may have another */
	__u32 magic;                /* of its file system */
};

struct event_task {
	__u32 kind;
	__u32 id;
	struct task_key key;
	struct file_view view;
	__u32 known; /* the map had its place */
	__u32 pad;
};

struct event_jit {
	__u32 kind;
	__u32 tgid;
	__u64 start_ns;
};

struct event_exec {
	__u32 kind;
	__u32 tgid;
	__u64 start_ns, cgroup; /* of cgroup v2 */
};

struct event_page {
	__u32 kind;
	__u32 object;
	__u32 page; /* index in the map of pages */
	__u32 pad;
};

struct event_pressure {
	__u32 kind;
	__u32 map;
};

#include "bpf/abi_cgroup.h"
#include "bpf/abi_language.h"
#include "bpf/abi_rows.h"
#include "bpf/abi_deferred.h"
#include "bpf/abi_share.h"
#include "bpf/abi_visit.h"

_Static_assert(sizeof(struct count_key) == 24, "count_key");
_Static_assert(sizeof(struct task_key) == 40, "task_key");
_Static_assert(sizeof(struct object_key) == 24, "object_key");
_Static_assert(sizeof(struct file_view) == 24, "file_view");
_Static_assert(sizeof(struct file_answer) == 64, "file_answer");
_Static_assert(sizeof(struct tick_times) == 1288, "tick_times");
_Static_assert(sizeof(struct tick_stats) == 3968, "tick_stats");
_Static_assert(sizeof(struct cpu_ticks) == 64, "cpu_ticks");
_Static_assert(sizeof(struct event_stack) == 24, "event_stack");
_Static_assert(sizeof(struct event_leaf) == 32, "event_leaf");
_Static_assert(sizeof(struct event_tick) == 24, "event_tick");
_Static_assert(sizeof(struct event_object) == 128, "event_object");
_Static_assert(sizeof(struct task_place) == 32, "task_place");
_Static_assert(sizeof(struct event_task) == 80, "event_task");
_Static_assert(sizeof(struct event_jit) == 16, "event_jit");
_Static_assert(sizeof(struct event_exec) == 24, "event_exec");
_Static_assert(sizeof(struct event_page) == 16, "event_page");
_Static_assert(sizeof(struct event_pressure) == 8, "event_pressure");
_Static_assert(sizeof(struct rows_page) == 8, "rows_page");
_Static_assert(sizeof(struct object_value) == 24, "object_value");
_Static_assert(sizeof(struct scan_mapping) == 32, "scan_mapping");
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule");
