/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/pages_arm64.bpf.h - entries of page tables on arm64 with pages of 4 KiB and 39 or 48 bits of
 * address (Arm ARM DDI 0487, D8.3). For BPF and the host. Other sizes have other levels: user space
 * does not try them, and finds no page with 52 bits. */
#pragma once

#define ARCH_PAGES 1
#define PAGE_LEVELS 4 /* with 39 bits the last three */
#define PAGE_FIRST_LARGE 1
#define PAGE_USER_END (1ULL << (page_top ? 39 : 48))

#define PAGE_VALID (1ULL << 0)
#define PAGE_TABLE (1ULL << 1) /* or, at the last level, a page */
#define PAGE_USER (1ULL << 6)
/* Access flag, read-only and dirty, contiguous: set and cleared at any time. */
#define PAGE_TOUCHED (1ULL << 7 | 1ULL << 10 | 1ULL << 52 | 1ULL << 55)
#define PAGE_ADDRESS 0x0000fffffffff000ULL

static __always_inline bool page_is_table(u64 entry, u32 level)
{
	return (entry & (PAGE_VALID | PAGE_TABLE)) == (PAGE_VALID | PAGE_TABLE) &&
		level < PAGE_LEVELS - 1;
}

static __always_inline bool page_is_leaf(u64 entry, u32 level)
{
	u64 table = level == PAGE_LEVELS - 1 ? PAGE_TABLE : 0;

	return level >= PAGE_FIRST_LARGE &&
		(entry & (PAGE_VALID | PAGE_TABLE | PAGE_USER)) == (PAGE_VALID | table | PAGE_USER);
}

static __always_inline u64 page_address(u64 entry)
{
	return entry & PAGE_ADDRESS;
}
