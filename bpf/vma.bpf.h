/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/vma.bpf.h - address → mapping, by reading the task's own tree of mappings.
 * It takes no lock. RCU frees nodes and mappings, and a tick runs inside RCU, so every read is of
 * memory that was a node a moment ago. The result is checked against the mapping's own bounds. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

#define VM_EXEC 0x4
#define VM_MAYSHARE 0x80 /* mapped shared; VM_SHARED is set only if it is also writable */
#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6

/* A maple tree node has 256 bytes and that alignment. A pointer to a node has its type above bit 2;
 * the root's has 2 in its low bits (linux/maple_tree.h). */
#define MAPLE_DEPTH_MAX 8
#define MAPLE_NODE_MASK 255UL
#define MAPLE_TYPE_SHIFT 3
#define MAPLE_TYPE_MASK 0xf
#define MAPLE_LEAF_64 1
#define MAPLE_RANGE_64 2
#define MAPLE_ARANGE_64 3
#define MAPLE_PIVOTS 15
#define MAPLE_ARANGE_PIVOTS 9
#define MAPLE_RESERVED_MAX 4095UL

#define RB_DEPTH_MAX 24

#define RWSEM_WRITER_LOCKED 1 /* bit of a rw_semaphore's count (kernel/locking/rwsem.c) */

struct vma_scratch {
	unsigned long pivots[MAPLE_PIVOTS];
};

/* Who searches, as the includer numbers them: a tick may interrupt another search. */
static __always_inline struct vma_scratch *vma_scratch_of(u32 asker);

/* The slot of this node that covers addr. Slot i reaches up to pivot[i]; a zero pivot after the
 * first ends a node that is not full. */
static __always_inline u32 vma_maple_slot(
	const struct vma_scratch *s, u32 pivots, unsigned long addr)
{
	u32 i;

	for (i = 0; i < MAPLE_PIVOTS; i++) {
		unsigned long pivot = s->pivots[i];

		if (i >= pivots || pivot >= addr || (i > 0 && pivot == 0))
			break;
	}
	return i;
}

/* The entry below a node's entry on the way to addr: a node's, or a leaf's, the mapping. 0: none.
 * Not static, so that the verifier checks it once and not for each level. */
__noinline u64 vma_maple_child(u64 entry, u64 addr, u32 asker)
{
	struct vma_scratch *s = vma_scratch_of(asker);
	u32 type = (entry >> MAPLE_TYPE_SHIFT) & MAPLE_TYPE_MASK, pivots, slots, slot;
	void *node = (void *)(entry & ~MAPLE_NODE_MASK);
	u64 child;

	/* The verifier checks it where nothing calls it, too: there all below is dead. */
	if (!bpf_core_field_exists(struct mm_struct, mm_mt))
		return 0;
	pivots = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_PIVOTS;
	slots = type == MAPLE_ARANGE_64 ? bpf_core_field_offset(struct maple_arange_64, slot)
					: bpf_core_field_offset(struct maple_range_64, slot);
	if (!s || type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
		return 0;
	if (bpf_probe_read_kernel(s->pivots, sizeof(s->pivots),
		    node + bpf_core_field_offset(struct maple_range_64, pivot)))
		return 0;
	slot = vma_maple_slot(s, pivots, addr);
	if (bpf_probe_read_kernel(&child, sizeof(child), node + slots + slot * sizeof(child)))
		return 0;
	return child > MAPLE_RESERVED_MAX ? child : 0;
}

static __always_inline struct vm_area_struct *vma_find_maple(
	struct mm_struct *mm, unsigned long addr, u32 asker)
{
	u64 entry = (u64)BPF_CORE_READ(mm, mm_mt.ma_root), child;

	if ((entry & 3) != 2)
		return NULL;
	for (int depth = 0; depth < MAPLE_DEPTH_MAX; depth++) {
		child = vma_maple_child(entry, addr, asker);
		if (!child || ((entry >> MAPLE_TYPE_SHIFT) & MAPLE_TYPE_MASK) == MAPLE_LEAF_64)
			return (struct vm_area_struct *)child;
		entry = child;
	}
	return NULL;
}

static __always_inline struct vm_area_struct *vma_find_rb(struct mm_struct *mm, unsigned long addr)
{
	struct rb_node *node = BPF_CORE_READ((struct mm_struct___rb *)mm, mm_rb.rb_node);
	u32 rb_offset = bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);

	for (int depth = 0; node && depth < RB_DEPTH_MAX; depth++) {
		struct vm_area_struct *vma = (void *)node - rb_offset;

		if (BPF_CORE_READ(vma, vm_end) <= addr)
			node = BPF_CORE_READ(node, rb_right);
		else if (BPF_CORE_READ(vma, vm_start) > addr)
			node = BPF_CORE_READ(node, rb_left);
		else
			return vma;
	}
	return NULL;
}

/* NULL: no mapping, or the tree changed during the search. */
static __always_inline struct vm_area_struct *vma_find(
	struct mm_struct *mm, unsigned long addr, u32 asker)
{
	if (bpf_core_field_exists(struct mm_struct, mm_mt))
		return vma_find_maple(mm, addr, asker);
	return vma_find_rb(mm, addr);
}

/* The file's modification time, in the field that this kernel has. */
static __always_inline u64 vma_mtime_ns(struct inode *inode)
{
	struct inode___split_time *split = (void *)inode;
	struct inode___hidden_time *hidden = (void *)inode;
	struct inode___plain_time *plain = (void *)inode;

	if (bpf_core_field_exists(split->i_mtime_sec))
		return BPF_CORE_READ(split, i_mtime_sec) * 1000000000ULL +
			BPF_CORE_READ(split, i_mtime_nsec);
	if (bpf_core_field_exists(hidden->__i_mtime))
		return BPF_CORE_READ(hidden, __i_mtime.tv_sec) * 1000000000ULL +
			BPF_CORE_READ(hidden, __i_mtime.tv_nsec);
	return BPF_CORE_READ(plain, i_mtime.tv_sec) * 1000000000ULL +
		BPF_CORE_READ(plain, i_mtime.tv_nsec);
}

/* Shared memory without a path (memfd, /dev/zero, an unlinked /dev/shm file), mapped shared: JITs
 * put code there. A library in a memfd is mapped privately. Anonymous huge pages (MAP_HUGETLB) are
 * such a file for the kernel in private mappings, too. */
static __always_inline bool vma_is_shared_memory(struct inode *inode, unsigned long vm_flags)
{
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if (magic != HUGETLBFS_MAGIC && (magic != TMPFS_MAGIC || !(vm_flags & VM_MAYSHARE)))
		return false;
	return BPF_CORE_READ(inode, i_nlink) == 0;
}

/* How the kernel numbers changes of mappings; enum kernel_lock_seq of user space has the same. */
enum vma_numbers { VMA_NUMBERS_NONE, VMA_NUMBERS_INT, VMA_NUMBERS_SEQCOUNT };

static __always_inline enum vma_numbers vma_numbers(void)
{
	struct mm_struct___int_seq *plain = NULL;
	struct mm_struct *mm = NULL;

	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return VMA_NUMBERS_SEQCOUNT;
	if (bpf_core_field_exists(plain->mm_lock_seq) &&
		bpf_core_field_exists(plain->mmap_lock.count.counter))
		return VMA_NUMBERS_INT;
	return VMA_NUMBERS_NONE;
}

/* A number that changes with the mappings. 0: the kernel has none, or a change is in progress; then
 * nothing may be cached. mm must come straight from the task.
 * A seqcount is odd during a change. An int is raised at the end of a change, while the writer
 * still has mmap_lock, so it says nothing of a change in progress: mmap_lock does. The order of the
 * two reads does not matter: what a change touches cannot be executed before the int is raised, and
 * what is cached during a change has a number that is over with the change. If the lock does not
 * show its writer (PREEMPT_RT), nothing is cached. */
static __always_inline u64 vma_generation(struct mm_struct *mm)
{
	struct mm_struct___int_seq *plain = (void *)mm;
	enum vma_numbers numbers = vma_numbers();
	u32 seq;

	if (numbers == VMA_NUMBERS_SEQCOUNT) {
		seq = mm->mm_lock_seq.sequence;
		return seq & 1 ? 0 : (u64)seq + 1;
	}
	if (numbers == VMA_NUMBERS_INT) {
		seq = (u32)plain->mm_lock_seq;
		return plain->mmap_lock.count.counter & RWSEM_WRITER_LOCKED ? 0 : (u64)seq + 1;
	}
	return 0;
}
