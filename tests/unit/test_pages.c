/* SPDX-License-Identifier: Apache-2.0 */
/* test_pages.c - the reader of another process's memory, on page tables that are made here: pages
 * of each size are found, what is absent or the kernel's is not, and a read during which the way to
 * the page changed gives nothing. Tables of x86-64. */
#define __TARGET_ARCH_x86
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/shim.h"

/* Not used. */
static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	(void)memory, (void)dst, (void)size, (void)addr;
	return -1;
}

#include "bpf/pages_x86.bpf.h"
#define page_mm_at(task) ((task) + 8)
#include "bpf/pages.bpf.h"

#define BASE 0xffff888000000000ULL
#define TASK 0xffffffff00000000ULL
#define MM 0xffff888000001234ULL
#define PRESENT (PAGE_PRESENT | PAGE_USER)
#define FIRST 0x200000ULL /* of the memory that is there */
#define MEMORY_PAGES 64
#define LARGE_AT 0x40000000ULL /* physical addresses of large pages, whose content is computed */
#define HUGE_AT 0x80000000ULL

static u8 memory[MEMORY_PAGES][PAGE_BYTES];
static u32 pages_len;
static u64 mm;
static struct page_reader reader;
static void (*between)(void); /* called before each read of the kernel's memory */

static struct page_reader *page_reader_of(void)
{
	return &reader;
}

static u8 byte_at(u64 physical)
{
	return (u8)(physical * 31 >> 3 ^ physical);
}

static int page_load(void *dst, u64 size, u64 addr)
{
	u64 physical = addr - BASE;

	if (between)
		between();
	if (addr == TASK + 8) {
		memcpy(dst, &mm, size);
		return 0;
	}
	if (physical >= LARGE_AT && physical < HUGE_AT + (1U << 30)) {
		for (u64 i = 0; i < size; i++)
			((u8 *)dst)[i] = byte_at(physical + i);
		return 0;
	}
	if (physical < FIRST || physical + size > FIRST + sizeof(memory))
		return -1;
	memcpy(dst, (u8 *)memory + (physical - FIRST), size);
	return 0;
}

static u64 new_page(void)
{
	assert_true(pages_len < MEMORY_PAGES);
	memset(memory[pages_len], 0, PAGE_BYTES);
	return FIRST + (u64)pages_len++ * PAGE_BYTES;
}

/* The entry for addr at this level, with the tables above it. */
static u64 *entry_of(u64 addr, u32 level)
{
	u64 table = reader.root - BASE;

	for (u32 i = page_top;; i++) {
		u64 *at = (u64 *)((u8 *)memory + (table - FIRST)) +
			(addr >> (PAGE_SHIFT + 9 * (PAGE_LEVELS - 1 - i)) & 511);

		if (i == level)
			return at;
		if (*at == 0)
			*at = new_page() | PRESENT;
		table = page_address(*at);
	}
}

static u64 map_page(u64 addr, u64 flags)
{
	u64 physical = new_page();

	for (u32 i = 0; i < PAGE_BYTES; i++)
		((u8 *)memory + (physical - FIRST))[i] = byte_at(addr + i);
	*entry_of(addr, PAGE_LEVELS - 1) = physical | flags;
	return physical;
}

static void begin(u32 top)
{
	pages_len = 0;
	between = NULL;
	direct_map = BASE;
	memory_end = ~0ULL;
	page_top = top;
	mm = MM;
	page_begin(&reader, TASK, MM, BASE + new_page());
}

static void reads(u64 addr, u64 size)
{
	const u8 *bytes = (const u8 *)(uintptr_t)page_fetch(addr, size);

	assert_non_null(bytes);
	for (u64 i = 0; i < size; i++)
		assert_int_equal(bytes[i], byte_at(addr + i));
}

static void pages_are_found_with_four_levels_and_five(void **state)
{
	(void)state;
	for (u32 top = 0; top < 2; top++) {
		u64 addr = top ? 0x7fff12345000 : 0xab12345678000;

		begin(top);
		map_page(addr, PRESENT);
		reads(addr, 8);
		reads(addr + 4088, 8);
		reads(addr + 1, PAGE_BYTES - 1);
		assert_int_equal(page_fetch(addr + 4089, 8), 0);
		assert_int_equal(page_fetch(addr - 1, 2), 0);
	}
}

/* As a device's memory that a driver mapped into the process. */
static void what_lies_beyond_memory_is_not_read(void **state)
{
	u64 physical;

	(void)state;
	begin(1);
	map_page(0x10000000, PRESENT); /* and the tables of both */
	physical = map_page(0x10001000, PRESENT);
	memory_end = physical;
	reads(0x10000000, 8);
	assert_int_equal(page_fetch(0x10001000, 8), 0);
	memory_end = FIRST + PAGE_BYTES; /* the first table's alone */
	page_begin(&reader, TASK, MM, reader.root);
	assert_int_equal(page_fetch(0x10000000, 8), 0);
	memory_end = physical + PAGE_BYTES;
	reads(0x10001000, 8);
}

static void a_read_goes_over_pages(void **state)
{
	(void)state;
	begin(1);
	for (u64 i = 0; i < 4; i++)
		map_page(0x10000000 + i * PAGE_BYTES, PRESENT);
	reads(0x10000ffc, 8);
	reads(0x10000fff, PAGE_READ_MAX);
	assert_int_equal(page_fetch(0x10000000, PAGE_READ_MAX + 1), 0);
}

static void large_pages_are_found_at_each_level(void **state)
{
	u64 bytes;

	(void)state;
	begin(1);
	*entry_of(0x7f0000200000, 3) = LARGE_AT | PRESENT | PAGE_LARGE | 1ULL << 12;
	*entry_of(0x7f1000000000, 2) = HUGE_AT | PRESENT | PAGE_LARGE;
	bytes = page_fetch(0x7f0000200000 + 0x12345, 1);
	assert_int_equal(*(u8 *)(uintptr_t)bytes, byte_at(LARGE_AT + 0x12345));
	bytes = page_fetch(0x7f1000000000 + 0x1234567, 1);
	assert_int_equal(*(u8 *)(uintptr_t)bytes, byte_at(HUGE_AT + 0x1234567));
}

static void memory_that_its_process_may_not_touch_is_found(void **state)
{
	u64 *entry;

	(void)state;
	begin(1);
	map_page(0x10000000, PRESENT);
	entry = entry_of(0x10000000, PAGE_LEVELS - 1);
	*entry = (~*entry & PAGE_ADDRESS) | PAGE_HIDDEN;
	reads(0x10000100, 16);
}

static void what_is_absent_or_the_kernels_is_not_found(void **state)
{
	static const u64 entries[] = {
		0,
		0xabcdef000ULL << 4,                      /* swapped out: neither bit */
		(FIRST + PAGE_BYTES) | PAGE_PRESENT,      /* the kernel's */
		0xb8000 | PRESENT,                        /* a device's, below 1 MiB */
		0xffffffff000ULL | PRESENT,               /* no memory there */
		(FIRST | 1ULL << 51) | PRESENT,           /* encrypted */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		begin(1);
		map_page(0x10000000, PRESENT);
		reads(0x10000000, 8);
		*entry_of(0x10000000, PAGE_LEVELS - 1) = entries[i];
		assert_int_equal(page_fetch(0x10000000, 8), 0);
	}
	begin(1);
	map_page(0x10000000, PRESENT);
	*entry_of(0x10000000, 3) &= ~PAGE_USER;
	assert_int_equal(page_fetch(0x10000000, 8), 0);
	/* An address of the kernel's, or behind the end: whatever the tables say. */
	begin(1);
	map_page(0, PRESENT);
	for (u64 addr = 1ULL << 47; addr; addr <<= 1)
		assert_int_equal(page_fetch(addr, 8), 0);
	assert_int_equal(page_fetch(~0ULL - 3, 8), 0);
	assert_int_equal(page_fetch((1ULL << 47) - 4, 8), 0);
}

static u32 loads, change_at;
static void (*change)(void);

static void count_loads(void)
{
	if (loads++ == change_at)
		change();
}

static void page_goes(void)
{
	*entry_of(0x10000000, PAGE_LEVELS - 1) = 0;
}

static void table_goes(void)
{
	*entry_of(0x10000000, 3) = (new_page() | PRESENT);
}

static void upper_table_goes(void)
{
	*entry_of(0x10000000, 1) = 0;
}

static void process_goes(void)
{
	mm = 0;
}

/* Whenever it happens, the content or nothing is read. */
static void a_page_that_goes_during_the_read_gives_nothing(void **state)
{
	static void (*const changes[])(void) = { page_goes, table_goes, upper_table_goes,
		process_goes };

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		change = changes[i];
		/* 4 entries, the copy, the mm and 4 entries again. */
		for (change_at = 0; change_at < 6; change_at++) {
			begin(1);
			map_page(0x10000000, PRESENT);
			loads = 0;
			between = count_loads;
			assert_int_equal(page_fetch(0x10000000, 8), 0);
		}
	}
}

static void a_page_that_moved_is_found_where_it_is_now(void **state)
{
	u64 *entry;

	(void)state;
	begin(1);
	map_page(0x10000000, PRESENT);
	reads(0x10000000, 8);
	entry = entry_of(0x10000000, PAGE_LEVELS - 1);
	memset((u8 *)memory + (page_address(*entry) - FIRST), 0, PAGE_BYTES);
	map_page(0x10000000, PRESENT);
	reads(0x10000000, 8);
	/* What the machine marks does not count. */
	*entry |= PAGE_TOUCHED;
	reads(0x10000000, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_found_with_four_levels_and_five),
		cmocka_unit_test(what_lies_beyond_memory_is_not_read),
		cmocka_unit_test(a_read_goes_over_pages),
		cmocka_unit_test(large_pages_are_found_at_each_level),
		cmocka_unit_test(memory_that_its_process_may_not_touch_is_found),
		cmocka_unit_test(what_is_absent_or_the_kernels_is_not_found),
		cmocka_unit_test(a_page_that_goes_during_the_read_gives_nothing),
		cmocka_unit_test(a_page_that_moved_is_found_where_it_is_now),
	};

	(void)shim_read_user;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
