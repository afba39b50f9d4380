/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/pages_x86.bpf.h - entries of page tables on x86-64 (Intel SDM volume 3, 4.5; in Linux
 * arch/x86/include/asm/pgtable_types.h). For BPF and the host. Where memory is encrypted, entries
 * have a bit that is no address: no page is found then, and user space sees that at its start. */
#pragma once

#define ARCH_PAGES 1
#define PAGE_LEVELS 5 /* of a machine with 57 bits of address; others use the last four */
#define PAGE_FIRST_LARGE 2
/* The lower half of what the machine's levels can address is the process's. */
#define PAGE_USER_END (1ULL << (page_top ? 47 : 56))

#define PAGE_PRESENT (1ULL << 0)
#define PAGE_USER (1ULL << 2)
#define PAGE_LARGE (1ULL << 7)
#define PAGE_HIDDEN (1ULL << 8)      /* of an entry that is not present: PROT_NONE */
#define PAGE_TOUCHED (1ULL << 5 | 1ULL << 6) /* set by the machine at any time */
#define PAGE_ADDRESS 0x000ffffffffff000ULL

/* Memory that the process may not touch now has its content, and its address is inverted
 * (asm/pgtable-invert.h): PROT_NONE, and what the kernel hides from it to see who uses it. */
static __always_inline bool page_is_hidden(u64 entry)
{
	return (entry & (PAGE_PRESENT | PAGE_HIDDEN)) == PAGE_HIDDEN;
}

static __always_inline bool page_is_table(u64 entry, u32 level)
{
	return (entry & (PAGE_PRESENT | PAGE_USER | PAGE_LARGE)) == (PAGE_PRESENT | PAGE_USER) &&
		level < PAGE_LEVELS - 1;
}

static __always_inline bool page_is_leaf(u64 entry, u32 level)
{
	if (level < PAGE_LEVELS - 1 && (level < PAGE_FIRST_LARGE || !(entry & PAGE_LARGE)))
		return false;
	return page_is_hidden(entry) ||
		(entry & (PAGE_PRESENT | PAGE_USER)) == (PAGE_PRESENT | PAGE_USER);
}

static __always_inline u64 page_address(u64 entry)
{
	return (page_is_hidden(entry) ? ~entry : entry) & PAGE_ADDRESS;
}
