/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_deferred.h - the part of bpf/abi.h for deferred samples: their walk waits for a table. */
#pragma once

/* Limits of a stack copy: the second one if little time or room is left, or if the sample is one of
 * very many. */
#define DEFERRED_STACK_BYTES 65536
#define DEFERRED_STACK_SHORT 16384
/* The long copy of a longer stack has two pieces: one from sp on, and one of the stack's root end.
 * Between them may lie a large frame (rustc has one of half a megabyte), whose content no walk
 * needs. */
#define DEFERRED_ROOT_BYTES 24576
#define DEFERRED_ROOT_OFFSET (DEFERRED_STACK_BYTES - DEFERRED_ROOT_BYTES)
#define DEFERRED_GPRS 32
/* Frames of a deferred sample; those after the leaf's are a ring. */
#define DEFERRED_FRAMES_MAX (STACK_LEAF_FRAMES + STACK_ROOT_FRAMES)
#define DEFERRED_DATA_BYTES (STACK_USER_FRAMES_MAX * 8 + DEFERRED_STACK_BYTES)

/* A deferred sample: its walk met a file without a table, or took too long. User space finishes the
 * walk from this. */
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
	__u8 left_how; /* FRAME_BY_*, of frames that are left out: >> FRAME_HOW_SHIFT */
	__u32 stack_bytes; /* length of the stack copy from sp on */
	__u32 tick_cpu;
	__u64 root_at;    /* address of the piece of the root end */
	__u32 root_bytes; /* length of that piece; 0 without one */
	__u32 language; /* 1: frames of a language were to follow, which BPF alone reads */
	__u64 time_ns;             /* time of the tick; 0: times are not kept */
	__u64 took_ns;             /* time that the tick took until here */
	/* The mapping where the walk stopped; end 0: none. The process may have another there, or
	 * be gone, when its mappings are read. */
	struct scan_mapping at;
	struct event_stack unused; /* BPF sends the same frames as an event_stack, too */
	/* The frames, leaf first, then the stack copy with its second piece at a fixed offset: use
	 * the functions below. */
	__u8 data[DEFERRED_DATA_BYTES];
};

static inline __u32 deferred_frames_bytes(const struct event_deferred *deferred)
{
	return (__u32)sizeof(__u64) *
		(deferred->frames_len > STACK_LEAF_FRAMES ? DEFERRED_FRAMES_MAX
							  : deferred->frames_len);
}

static inline __u64 *deferred_frames(const struct event_deferred *deferred)
{
	return (__u64 *)deferred->data;
}

static inline __u8 *deferred_stack(const struct event_deferred *deferred)
{
	return (__u8 *)deferred->data + deferred_frames_bytes(deferred);
}

static inline __u8 *deferred_root(const struct event_deferred *deferred)
{
	return deferred_stack(deferred) + DEFERRED_ROOT_OFFSET;
}

/* Bytes of the stack copy, with what lies unused between its pieces. */
static inline __u32 deferred_copy_bytes(const struct event_deferred *deferred)
{
	return deferred->root_bytes ? DEFERRED_ROOT_OFFSET + deferred->root_bytes
				    : deferred->stack_bytes;
}

_Static_assert(sizeof(struct event_deferred) == 424 + DEFERRED_DATA_BYTES, "event_deferred");
