/* SPDX-License-Identifier: Apache-2.0 */
/* vma_check.h - what vma_check.bpf.c tells vma_check.c, and where churnmaps.c maps and unmaps.
 * The includer has the fixed-width types of linux/types.h. */
#pragma once

#define ANSWERS_MAX 32
#define COMM_BYTES 16

/* What the walk says of one address. Without a mapping (found is 0) the rest is 0 too; without a
 * file, offset, ino and dev are. */
struct vma_answer {
	__u64 addr;
	__u64 start;
	__u64 end;
	__u64 file_offset;
	__u64 ino;
	__u32 dev;
	__u8 found;
	__u8 executable;
	__u8 shared;
	__u8 pad;
};

/* All answers of one tick. */
struct vma_tick {
	__u64 at_ns;      /* CLOCK_MONOTONIC */
	__u64 start_ns;   /* of the process, since boot */
	__u64 mm;         /* with exec_id: tells the images of one process apart */
	__u64 generation; /* of the mappings; 0: not known, or they were changing */
	__u32 tgid;
	__u32 lost; /* ticks before this one that did not fit into the ring */
	__u32 answers_len;
	__u32 exec_id;
	char comm[COMM_BYTES]; /* the leader's */
	struct vma_answer answers[ANSWERS_MAX];
};

_Static_assert(sizeof(struct vma_answer) == 48, "the same on both sides");
_Static_assert(sizeof(struct vma_tick) == 64 + ANSWERS_MAX * 48, "the same on both sides");

/* An arena of blocks. The first page of each stays mapped, the others come and go. */
#define CHURN_START 0x100000000000ULL
#define CHURN_BLOCKS 512
#define CHURN_BLOCK_PAGES 16
#define CHURN_PAGE_BYTES 4096ULL
#define CHURN_BLOCK_BYTES (CHURN_BLOCK_PAGES * CHURN_PAGE_BYTES)
#define CHURN_END (CHURN_START + CHURN_BLOCKS * CHURN_BLOCK_BYTES)

/* Is addr in a page of the arena that stays? */
static inline int churn_stays(__u64 addr)
{
	return addr >= CHURN_START && addr < CHURN_END &&
		(addr - CHURN_START) % CHURN_BLOCK_BYTES < CHURN_PAGE_BYTES;
}
