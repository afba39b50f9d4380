/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/sample_maps.bpf.h - maps and globals of the sampling program, and the configuration that user
 * space sets before loading. Where user/sampler/sampler.c sizes a map at load,
 * by the memory budget, the rate or the CPUs, its max_entries of 1 is a placeholder. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/unwind.bpf.h"
#include "bpf/vma.bpf.h"

struct mapping {
	u64 start;
	u64 end;         /* 0: none */
	u64 file_offset; /* file offset of start */
	u32 object;
	u16 kind;  /* FRAME_FILE or FRAME_ANON */
	u16 language; /* as in struct object_value */
	u32 table; /* enum table_state; this and the next as in struct object_value */
	u32 page_base;
	u32 page_first;
	u32 pages_len;
};

struct user_stack {
	struct event_stack head;
	u64 frames[STACK_USER_FRAMES_MAX];
};

struct kernel_stack {
	struct event_stack head;
	u64 frames[STACK_KERNEL_FRAMES_MAX];
};

/* Working memory of a tick. One a CPU is enough, because ticks of a CPU do not nest. */
struct scratch {
	struct task_key task;
	u32 task_counter;
	u32 object_counter;
	u32 key_counter;
	u32 code_counter;
	u32 language; /* of the walk; 0: none was met. This and the next: bpf/language.bpf.h */
	u64 anchor;
	u32 hotspot; /* 0: not looked up yet; 1: it is none; 2: it is. bpf/hotspot_maps.bpf.h */
	u64 code;    /* the frame of code without a file, FRAME_CODE; 0: it has no name */
	u64 tick_ns;                   /* time of the tick's start */
	u64 user_ns;                   /* start of the user half */
	u64 deadline_ns;               /* the walk's end */
	u64 subsys[CGROUP_SUBSYS_MAX]; /* copy of the task's css_set */
	struct mm_struct *mm;
	struct unwind_regs regs;
	struct unwind_window window;
	u64 rule[sizeof(struct unwind_rule) / sizeof(u64)]; /* a copy of one */
	arch_user_regs saved;
	u64 searched;                      /* result of stack_word_from */
	struct unwind_place stepped;       /* start of the latest step */
	struct unwind_way way;             /* out of the interrupted function */
	struct unwind_way taken;           /* where its first conditional jump leads */
	u32 landing;                       /* enum landing */
	struct uprobe_task *utask;         /* NULL: the task met no uprobe */
	u64 uprobe_returns, uprobe_area;   /* first struct return_instance; start of [uprobes] */
	u64 uprobe_slot, uprobe_true;      /* of one: where the address was, and it */
	u64 uprobe_place;                  /* of that slot in the copies of the stack */
	u64 copied, root_at, root_copied;  /* bytes of the first; start and bytes of the second */
	u64 how;                           /* FRAME_BY_*, of the next frame */
	u32 deferred_second, deferred_len; /* number of deferred samples in this second */
	u32 deferred_long;                 /* deferred samples with a long copy of the stack */
	u32 deferred_frames;               /* bytes of the deferred sample's frames */
	u64 root_end; /* the end of its stack, copied as a second piece; 0: it is not */
	u64 user_hash;
	u64 kernel_hash;
	u64 user_below_leaf; /* hash of all frames except the leaf */
	u64 kernel_below_leaf;
	u64 root[STACK_ROOT_FRAMES]; /* ring of the latest frames after the leaf's */
	u64 left_how;                /* FRAME_BY_*, of frames that the ring lost */
	u32 walked;                  /* number of frames, also of those not kept */
	u32 late;                    /* the walk has taken too long */
	u32 limited;                 /* the task's cgroup has a limit of its own */
	u32 unruled;                 /* number of steps without a rule */
	u32 end;
	u32 unsent; /* enum lost_reason, of the latest stack or task that was not sent */
	u64 mappings_hash; /* of the process and of what its mappings depend on */
	u32 process;       /* number of its slots, before it is cut to those that there are */
	struct mapping at;
	struct mapping fresh;
	struct vm_area_struct *owner; /* mapping of the file of `fresh`; NULL: no file */
	struct inode *inode;          /* the file */
	struct vma_scratch vma;
	struct event_object object_event;
	struct event_task task_event;
	struct task_place place;
	struct kernel_stack kernel;
	/* A struct event_deferred without its stack copy, see deferred_of. */
	u8 deferred_head[offsetof(struct event_deferred, unused)];
	struct user_stack user;
};

_Static_assert(offsetof(struct scratch, user.frames) - offsetof(struct scratch, deferred_head) ==
		offsetof(struct event_deferred, data),
	"the walked frames are those of the deferred sample");

_Static_assert(sizeof(struct scratch) <= 32768, "the kernel's limit of a per-CPU value");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Needed by bpf/frame.bpf.h. A CPU has one walk at a time, in its own scratch: so the number of a
 * walk is always 0. */
static __always_inline struct scratch *scratch_of(u64 walk)
{
	u32 zero = 0;

	barrier_var(walk);
	return bpf_map_lookup_elem(&scratches, &zero);
}

#define walk_of(s) 0ULL

static __always_inline int walk_read(u64 walk, void *dst, u32 size, u64 addr)
{
	barrier_var(walk);
	return shim_read_user(NULL, dst, size, addr);
}

static __always_inline bool walk_late(const struct scratch *s)
{
	return bpf_ktime_get_ns() >= s->deadline_ns;
}

/* A value for each possible CPU, and user space maps them all: of a per-CPU array it would have to
 * copy all values at once, and Linux 5.10 refuses that where they have more than 4 MB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tick_stats);
} tick_counts SEC(".maps");

struct counts {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct count_key);
	__type(value, u64);
};
struct counts counts_0 SEC(".maps"), counts_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct object_key);
	__type(value, struct object_value);
} objects SEC(".maps");

#define OBJECTS_ANY (~0U)
/* Number of entries in the map of objects; user space decrements it. The scan may fill a part of
 * the map only: otherwise a process that maps many files leaves no room for files that run. */
__u32 objects_len = 0;
const volatile __u32 objects_scan_max = OBJECTS_ANY;

/* cgroup → the last second in which its new files are not sent, as user space has no place or no
 * time for them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, u32);
} refused_cgroups SEC(".maps");

/* Places that user space knows → places_epoch of that time: an older one is unknown again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct task_place);
	__type(value, u32);
} known_places SEC(".maps");

/* tgid → start of the process whose EVENT_JIT was sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} jit_sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

/* The target's cgroups. BPF updates them itself, so a lost event does no harm. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} target_cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* Scratch of the scan, because a tick may interrupt it. One scan at a time. */
struct scan_scratch {
	struct event_object event;
	u64 subsys[CGROUP_SUBSYS_MAX]; /* copy of a task's css_set */
	struct vma_scratch vma;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scan_scratch);
} scan_scratches SEC(".maps");

__u32 scan_counter = 0;

const volatile __u32 self_tgid = 0;
/* A power of two, not below the number of possible CPUs: see id_next. */
const volatile __u32 id_stride = 1;
const volatile __u32 filter = FILTER_NONE;
const volatile __u32 meets = FILTER_NONE; /* the filter of files that are met before a tick */
const volatile __u8 keep_tid = 0, keep_cpu = 0, keep_user = 1, keep_kernel = 1;
const volatile __u8 keep_times = 0;
const volatile __u32 page_shift = 12;
const volatile __u64 counts_high = ~0ULL;
const volatile __u64 ring_bytes = ~0ULL;
/* Seed of user stack hashes: without it nobody can forge a stack with the hash of another. */
const volatile __u64 stacks_secret = 0;

/* Tick counters by CPU, readable by user space; one cache line each. */
struct cpu_ticks cpu_ticks[CPU_TICKS_MAX] = {};

/* Period of the clocks; 0: irregular. Changed only while no clock runs. */
__u64 period_ns = 0;

/* Time from a tick's start after which its walk ends, see TICK_WALK_PARTS. */
__u64 walk_limit_ns = ~0ULL;

/* The same for cgroups whose account took more than its share of the time: cgroup → ns. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u64);
} tick_limits SEC(".maps");

__u32 active_counts = 0;
__u32 epoch = 1; /* see bpf/known.bpf.h */
__u32 places_epoch = 0;
__u32 tick_limits_len = 0; /* 0: no tick looks for its limit */
__u64 counts_len[2] = {};
