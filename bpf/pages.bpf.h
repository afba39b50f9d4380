/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/pages.bpf.h - reads the memory of any process without a page fault: it follows the process's
 * page tables, and reads a page that is there where the kernel has all memory mapped (its direct
 * map). A page that is swapped out, or that a file system or userfaultfd has yet to supply, cannot
 * be read; nothing waits for it. No lock and no reference is taken, so pages and tables may be
 * freed and used again at any time. Therefore the process and each entry on the way are read again
 * after the copy, as the kernel does in get_user_pages_fast: if one has changed, nothing was read.
 * A page would have to leave and come back within the copy to be missed. Tables are freed after
 * RCU, in which programs run. One read at a time. Compiles for the host too; needed there:
 *     page_load(dst, size, addr)     0 or an error: reads kernel memory
 *     page_mm_at(task)               where a task has the address of its mm
 *     page_reader_of()               room for the reader */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

#ifdef ARCH_PAGES
#elif defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#include "bpf/pages_arm64.bpf.h"
#else
#include "bpf/pages_x86.bpf.h"
#endif

#define PAGE_SHIFT 12
#define PAGE_BYTES (1U << PAGE_SHIFT)
#define PAGE_READ_MAX 8192U
#define PAGE_PIECES (PAGE_READ_MAX / PAGE_BYTES + 1)
#define PAGE_PATHS 4 /* latest pages whose way is remembered, a power of two */
/* Below are no pages of processes, but devices' memory that the direct map has, too. */
#define PAGE_LOWEST (1ULL << 20)

/* The way to a page: address and content of its entry at each level. */
struct page_path {
	u64 page; /* address in the process; PAGE_NOWHERE: none */
	u64 at[PAGE_LEVELS], entry[PAGE_LEVELS];
	u64 data; /* kernel address of the page */
	u32 len;  /* number of levels, of those above the first one that the machine uses, too */
	u32 pad;
};

#define PAGE_NOWHERE 1ULL

struct page_reader {
	u64 self; /* the address of `bytes` */
	u64 task; /* address of the task that has the memory */
	u64 mm;   /* address of the task's mm, while its memory is read */
	u64 root; /* address of the first table */
	u64 now;  /* a table's address, or an entry */
	u64 from, size, done, copied;
	u64 page; /* the latest one */
	u64 known; /* the way to the latest page was remembered */
	struct page_path paths[PAGE_PATHS];
	u8 bytes[PAGE_READ_MAX + PAGE_BYTES];
};

/* Kernel address of the memory's beginning, and the first level that this machine uses. User space
 * finds both: user/waiting/direct_map.c. */
__u64 direct_map = 0;
__u64 memory_end = ~0ULL; /* physical: beyond is memory of devices, which the map has not */
__u32 page_top = 0;

#ifdef __bpf__
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct page_reader);
} page_readers SEC(".maps");

#define PAGE_GLOBAL __noinline
#define page_load(dst, size, addr) bpf_probe_read_kernel(dst, size, (const void *)(addr))
#define page_mm_at(task) ((task) + bpf_core_field_offset(struct task_struct, mm))

static __always_inline struct page_reader *page_reader_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&page_readers, &zero);
}

/* As a number: the verifier refuses to return a pointer. */
static __always_inline u64 page_bytes_of(struct page_reader *p)
{
	*(void *volatile *)&p->self = p->bytes;
	return *(volatile u64 *)&p->self;
}
#else
#define PAGE_GLOBAL static
static int page_load(void *dst, u64 size, u64 addr);
static struct page_reader *page_reader_of(void);

static inline u64 page_bytes_of(struct page_reader *p)
{
	return (u64)(uintptr_t)p->bytes;
}
#endif

/* Finds the way to p->page. 0; -1: it is not there. */
static __always_inline int page_find(struct page_reader *p, struct page_path *path)
{
	path->page = PAGE_NOWHERE;
	p->now = p->root;
	NOT_UNROLLED
	for (u32 i = 0; i < PAGE_LEVELS; i++) {
		const u32 shift = PAGE_SHIFT + 9 * (PAGE_LEVELS - 1 - i);

		if (i < page_top)
			continue;
		path->len = i + 1;
		path->at[i] = p->now + (p->page >> shift & 511) * sizeof(u64);
		if (page_load(&p->now, sizeof(u64), path->at[i]))
			return -1;
		path->entry[i] = p->now;
		if (page_is_leaf(p->now, i)) {
			u64 inside = (1ULL << shift) - 1;

			path->data = (page_address(p->now) & ~inside) | (p->page & inside);
			if (path->data < PAGE_LOWEST || path->data >= memory_end)
				return -1;
			path->data += direct_map;
			path->page = p->page;
			return 0;
		}
		if (!page_is_table(p->now, i) || page_address(p->now) >= memory_end)
			return -1;
		p->now = direct_map + page_address(p->now);
	}
	return -1;
}

/* Is the way still the same? */
static __always_inline bool page_holds(struct page_reader *p, const struct page_path *path)
{
	if (page_load(&p->now, sizeof(u64), page_mm_at(p->task)) || p->now != p->mm)
		return false;
	NOT_UNROLLED
	for (u32 i = 0; i < PAGE_LEVELS; i++) {
		if (i < page_top || i >= path->len)
			continue;
		if (page_load(&p->now, sizeof(u64), path->at[i]) ||
			((p->now ^ path->entry[i]) & ~PAGE_TOUCHED))
			return false;
	}
	return true;
}

/* Copies what is in one page, from p->from + p->done on, to the same place of p->bytes. False: it
 * is not there, or no more where it was; then p->known says whether it may be elsewhere. */
static __always_inline bool page_copy(struct page_reader *p)
{
	struct page_path *path;
	u64 bytes, at;

	p->page = (p->from + p->done) & ~(u64)(PAGE_BYTES - 1);
	path = &p->paths[p->page >> PAGE_SHIFT & (PAGE_PATHS - 1)];
	p->known = path->page == p->page;
	if (!p->known && page_find(p, path))
		return false;
	at = p->done;
	bytes = p->page + PAGE_BYTES - p->from - at;
	if (bytes > p->size - at)
		bytes = p->size - at;
	p->copied = bytes;
	asm volatile("" : "+r"(bytes), "+r"(at));
	if (at <= PAGE_READ_MAX && bytes <= PAGE_BYTES &&
		page_load(p->bytes + at, bytes, path->data + (p->from + at - p->page)) == 0 &&
		page_holds(p, path))
		return true;
	path->page = PAGE_NOWHERE;
	return false;
}

/* The address of `size` bytes that are at addr in the process; 0: they cannot all be read. Valid
 * until the next call. Numbers only, for its loop is verified once; its stack is at the end of the
 * longest chain of calls, so what lives across calls is in the reader. */
PAGE_GLOBAL u64 page_fetch(u64 addr, u64 size)
{
	struct page_reader *p = page_reader_of();

	if (!p || !p->root || size > PAGE_READ_MAX || addr > PAGE_USER_END - PAGE_READ_MAX)
		return 0;
	p->from = addr;
	p->size = size;
	p->done = 0;
	NOT_UNROLLED
	for (u32 i = 0; i < 2 * PAGE_PIECES; i++) {
		if (page_copy(p)) {
			p->done += p->copied;
			if (p->done >= p->size)
				return page_bytes_of(p);
		} else if (!p->known) {
			return 0; /* else the way is looked for anew */
		}
	}
	return 0;
}

/* Reads from another process from now on. */
static __always_inline void page_begin(struct page_reader *p, u64 task, u64 mm, u64 root)
{
	p->task = task;
	p->mm = mm;
	p->root = root;
	UNROLL
	for (u32 i = 0; i < PAGE_PATHS; i++)
		p->paths[i].page = PAGE_NOWHERE;
}

#ifdef __bpf__
static __always_inline int page_read(void *dst, u32 size, u64 addr)
{
	u64 bytes = page_fetch(addr, size);

	return bytes ? bpf_probe_read_kernel(dst, size, (const void *)bytes) : -1;
}
#endif
