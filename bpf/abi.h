/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi.h - all that crosses between kernel and user space.
 * BPF includes it behind vmlinux/vmlinux.h. Fixed widths only; every struct's size is asserted.
 * Frames, stacks and rules are described here and nowhere else. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define STACK_USER_FRAMES_MAX 128
#define STACK_KERNEL_FRAMES_MAX 64
#define COMM_LEN 16
#define OBJECT_NAME_LEN 48

/* ---- frames: one u64, 4 bits of kind and 60 of what the kind says -------------------------
 * User frames below the leaf hold the return address minus one: an address inside the call. */
enum frame_kind {
	FRAME_KERNEL = 1, /* low 60 bits of a kernel address; sign-extend to get it back */
	FRAME_FILE = 2,   /* object id << 38 | file offset */
	FRAME_ANON = 3,   /* an address in code that no file holds: JIT; means nothing without the
			     process */
};

#define FRAME_KIND_SHIFT 60
#define FRAME_OBJECT_SHIFT 38
#define FRAME_OFFSET_MASK ((1ULL << FRAME_OBJECT_SHIFT) - 1)
#define FRAME_PAYLOAD_MASK ((1ULL << FRAME_KIND_SHIFT) - 1)
#define OBJECT_ID_MAX ((1U << (FRAME_KIND_SHIFT - FRAME_OBJECT_SHIFT)) - 1)

/* Object ids. 0 is none; the vDSO is in no file but the same for every 64-bit process. */
#define OBJECT_VDSO 1
#define OBJECT_FIRST 16
#define OBJECT_SCAN_FIRST (1U << 21) /* ids that the scan gives */

/* ---- counts: what is kept for the ticks, (stacks, who) → number --------------------------- */
struct count_key {
	__u64 user_stack;   /* hash of the user half; 0: none */
	__u64 kernel_stack; /* hash of the kernel half; 0: none */
	__u32 who;          /* id of a struct who_key */
	__u32 cpu;          /* cpu + 1 where the CPU is asked for, else 0 */
};

/* Who ran: interned in BPF so that a count is small. */
struct who_key {
	__u64 start_ns; /* the process's start, CLOCK_BOOTTIME: (tgid, start_ns) is never reused */
	__u64 cgroup;   /* cgroup v2 id */
	__u32 tgid;
	__u32 tid; /* 0 where threads are not told apart */
	char comm[COMM_LEN];
};

/* One mapped file. mtime tells a new file from an old one that had the same inode number. */
struct object_key {
	__u64 ino;
	__u64 mtime_ns;
	__u32 dev; /* the kernel's: major << 20 | minor */
	__u32 generation;
};

/* Whose ticks are samples. */
enum filter_kind {
	FILTER_NONE = 0,
	FILTER_TGID = 1, /* processes in the map of targets */
	FILTER_TID = 2,  /* threads in it */
	FILTER_TREE = 3, /* processes in it and their descendants */
};

/* What one CPU counted. Every tick that ran the program is one of samples, idle, filtered, lost. */
struct tick_stats {
	__u64 ticks;
	__u64 samples;
	__u64 idle;
	__u64 filtered;  /* ran, but on what was not asked for */
	__u64 bytes_out; /* through the ring buffer */
	__u64 lost[8];   /* by enum lost_reason */
};

#define CPU_TICKS_MAX 1024 /* a power of two; CPUs beyond it share a slot */

struct cpu_ticks {
	__u64 ticks;
	__u64 pad[7];
};

/* ---- events: what goes through the ring buffer, each once -------------------------------- */
enum event_kind {
	EVENT_STACK = 1,
	EVENT_OBJECT = 2,
	EVENT_WHO = 3,
	EVENT_JIT = 4,      /* a process's first frame in code of no file */
	EVENT_PRESSURE = 5, /* a count map is half full: drain it */
	EVENT_EXEC = 6,     /* a process runs a file that was not met before */
	EVENT_PAGE = 7,     /* a page of rows that is not there was needed */
	EVENT_HELD = 8,     /* a sample whose walk waits for a table */
};

struct event_stack {
	__u32 kind;
	__u16 frames_len;
	__u8 end;  /* enum stack_end; END_NONE for a kernel half */
	__u8 anon; /* frames hold addresses of one process: hash covers its tgid and start */
	__u64 hash;
	/* frames_len times __u64 follow, leaf first */
};

struct event_object {
	__u32 kind;
	__u32 id;
	struct object_key key;
	__u64 start_ns; /* of the process that was seen to map it */
	__u64 vm_start;
	__u64 vm_end;
	__u64 file_offset; /* of vm_start */
	__u32 tgid;
	char name[OBJECT_NAME_LEN]; /* last part of the path, cut; for when the file cannot be
				       opened */
	__u32 pad;
};

struct event_who {
	__u32 kind;
	__u32 id;
	struct who_key key;
};

struct event_jit {
	__u32 kind;
	__u32 tgid;
	__u64 start_ns;
};

struct event_exec {
	__u32 kind;
	__u32 tgid;
	__u64 start_ns;
};

struct event_page {
	__u32 kind;
	__u32 object;
	__u32 page; /* index in the map of pages */
	__u32 pad;
};

#define HELD_STACK_BYTES 8192
#define HELD_GPRS 32

/* A sample that stopped at a file without a table: what user space needs to finish the walk. */
struct event_held {
	__u32 kind;
	__u32 who;
	__u64 kernel_stack;
	__u64 start_ns;
	__u32 tgid;
	__u32 cpu;        /* as in struct count_key */
	__u64 pc, sp, fp; /* where the walk stopped */
	__u64 gpr[HELD_GPRS];
	__u32 exact;
	__u16 frames_len; /* above that place, already walked */
	__u8 anon;
	__u8 pad;
	__u64 frames[STACK_USER_FRAMES_MAX];
	__u32 stack_bytes; /* from sp on */
	__u32 pad2;
	__u8 stack[HELD_STACK_BYTES];
};

struct event_pressure {
	__u32 kind;
	__u32 map;
};

/* ---- rows: where the caller's registers are, by address -----------------------------------
 * An object's text is cut into pages of 64 KiB of file offset. A page's data is
 *     u16 first[257]   rows of chunk c (256 bytes of text) are first[c] .. first[c + 1] - 1
 *     u16 rule[n]      rule id of row i
 *     u8  start[n]     low 8 bits of the offset at which row i begins
 * A row holds until the next one. Every page has a row at its offset 0, so the last row at or
 * before an address is always in its page. The format does not care what the rows were compiled
 * from. */
#define ROWS_PAGE_SHIFT 16
#define ROWS_CHUNK_SHIFT 8
#define ROWS_CHUNKS (1 << (ROWS_PAGE_SHIFT - ROWS_CHUNK_SHIFT))
#define ROWS_INDEX_BYTES ((ROWS_CHUNKS + 1) * 2)

/* Pages' data lies in slabs, none across two of them. A page's place is in units of 4 bytes from
 * the first slab's start; the first unit is never used, so 0 is "not there". */
#define ROWS_SLAB_SHIFT 20
#define ROWS_SLAB_BYTES (1U << ROWS_SLAB_SHIFT)
#define ROWS_PLACE_SHIFT 2
#define ROWS_RULES_MAX 32768
#define ROWS_PAGES_MAX 65536

enum table_state {
	TABLE_PENDING = 0, /* user space has not answered yet */
	TABLE_READY = 1,
	TABLE_NONE = 2, /* there is none and there will be none: walk by frame pointer */
};

/* What user space knows of a page of rows, and BPF of its use. */
struct rows_page {
	__u32 place; /* ROWS_PAGE_ABSENT, ROWS_PAGE_ASKED, or where its data is */
	__u32 used;  /* the interval in which it was last searched */
};

#define ROWS_PAGE_ABSENT 0
#define ROWS_PAGE_ASKED 1 /* absent, and user space was told */
#define ROWS_PAGE_EMPTY 2 /* no function in it: as if every row were CFA_NONE */

struct object_value {
	__u32 id;
	__u32 table;      /* enum table_state */
	__u32 page_base;  /* of its pages in the map of pages */
	__u32 page_first; /* file offset >> ROWS_PAGE_SHIFT of the first of them */
	__u32 pages_len;
	__u32 pad;
};

/* What the scan of a process's mappings gives for each one that holds code. */
struct scan_mapping {
	__u64 start;
	__u64 end;
	__u64 file_offset;
	__u32 tgid;
	__u32 object; /* 0: code in no file */
};

enum cfa_kind {
	CFA_NONE = 0,        /* no function here: not an address that code runs at */
	CFA_REG = 1,         /* reg + cfa_off */
	CFA_DEREF = 2,       /* *(reg + cfa_off) + cfa_add: realigned stacks */
	CFA_PLT = 3,         /* sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0): a PLT entry of x86-64 */
	CFA_SIGNAL = 4,      /* all registers from the rt_sigframe at sp */
	CFA_UNSUPPORTED = 5, /* a rule that this table cannot say */
};

enum ra_kind {
	RA_AT_CFA = 0,    /* *(CFA + ra_off) */
	RA_UNDEFINED = 1, /* the outermost frame */
	RA_REG = 2,       /* in register ra_off: arm64's lr, x86-64's vfork */
	RA_UNSUPPORTED = 3,
};

enum fp_kind {
	FP_SAME = 0,   /* the frame pointer register is as the caller left it */
	FP_AT_CFA = 1, /* *(CFA + fp_off) */
	FP_AT_FP = 2,  /* *(fp + fp_off) */
	FP_AT_SP = 3,  /* *(sp + fp_off) */
	FP_LOST = 4,   /* cannot be had: a caller that needs it is where the walk stops */
};

/* DWARF register numbers of the machine; the stack pointer and the frame pointer are known in every
 * frame, the others in the interrupted one alone. */
struct unwind_rule {
	__u8 cfa;     /* enum cfa_kind */
	__u8 cfa_reg; /* DWARF register number */
	__u8 ra;      /* enum ra_kind */
	__u8 fp;      /* enum fp_kind */
	__s32 cfa_off;
	__s32 cfa_add;
	__s16 ra_off;
	__s16 fp_off;
};

_Static_assert(sizeof(struct count_key) == 24, "count_key");
_Static_assert(sizeof(struct who_key) == 40, "who_key");
_Static_assert(sizeof(struct object_key) == 24, "object_key");
_Static_assert(sizeof(struct tick_stats) == 104, "tick_stats");
_Static_assert(sizeof(struct event_stack) == 16, "event_stack");
_Static_assert(sizeof(struct event_object) == 120, "event_object");
_Static_assert(sizeof(struct event_who) == 48, "event_who");
_Static_assert(sizeof(struct event_jit) == 16, "event_jit");
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule");
