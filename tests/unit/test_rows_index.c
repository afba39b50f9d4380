/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of single pages, by the search table of .eh_frame_hdr: those of the whole table, whatever
 * the functions are, and never other ones, whatever the table claims. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "page_by_page.h"
#include "rows_find.h"
#include "rows_made.h"
#include "unwind/rows_build.h"
#include "unwind/rows_index.h"

#define PAGE 0x10000ULL
/* The number of the page at a place of the text. */
#define NUMBER(off) ((uint32_t)((TEXT_OFFSET + (off)) >> ROWS_PAGE_SHIFT))
#define FILE_BYTES_MAX (64U << 20)

/* ---- files with a table, which may be spoilt before it is written -----------------------------
 */

#define INDEX_VADDR 0x4000000ULL
#define INDEXED_MAX 512
#define INDEX_HEAD_BYTES 12

struct indexed_entry {
	int32_t start, fde; /* relative to INDEX_VADDR */
};

struct indexed {
	struct buf eh, debug;
	size_t cie;
	struct indexed_entry entries[INDEXED_MAX];
	size_t len;
	uint32_t count; /* that the header states; 0: len */
	uint8_t encoding;
	bool again;     /* a second segment shows the code, too */
	uint64_t split; /* a second segment shows the code from here on */
	struct buf file;
	struct image image;
};

static void indexed_init(struct indexed *x)
{
	*x = (struct indexed){ .encoding = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	x->cie = cfi_cie_usual(&x->eh);
}

static void indexed_done(struct indexed *x)
{
	if (x->image.file.data)
		image_done(&x->image);
	buf_done(&x->eh);
	buf_done(&x->debug);
	buf_done(&x->file);
}

static void indexed_add(
	struct indexed *x, uint64_t start, uint32_t size, struct cfi_text program)
{
	size_t at = x->eh.len;

	cfi_fde(&x->eh, x->cie, TEXT(start), size, program);
	assert_true(x->len < INDEXED_MAX);
	x->entries[x->len++] =
		(struct indexed_entry){ (int32_t)((int64_t)TEXT(start) - (int64_t)INDEX_VADDR),
			(int32_t)((int64_t)(CFI_SECTION_VADDR + at) - (int64_t)INDEX_VADDR) };
}

static int indexed_compare(const void *x, const void *y)
{
	const struct indexed_entry *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void indexed_sort(struct indexed *x)
{
	qsort(x->entries, x->len, sizeof(x->entries[0]), indexed_compare);
}

static Elf64_Phdr indexed_load(uint32_t flags, uint64_t offset, uint64_t vaddr, uint64_t len)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = vaddr,
		.p_filesz = len,
		.p_memsz = len };
}

static void indexed_make(struct indexed *x)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.eh_frame_hdr\0.shstrtab";
	struct buf *f = &x->file;
	size_t hdr_bytes = INDEX_HEAD_BYTES + x->len * sizeof(x->entries[0]);
	Elf64_Shdr s[] = { { 0 },
		{ .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_addr = CFI_SECTION_VADDR,
			.sh_size = x->eh.len },
		{ .sh_name = 24,
			.sh_type = SHT_PROGBITS,
			.sh_addr = INDEX_VADDR,
			.sh_size = hdr_bytes },
		{ .sh_name = 38, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
		{ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_size = x->debug.len } };
	Elf64_Phdr p[5];
	Elf64_Ehdr h = { .e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(h),
		.e_phoff = sizeof(h),
		.e_phentsize = sizeof(p[0]),
		.e_phnum = 5,
		.e_shentsize = sizeof(s[0]),
		.e_shnum = x->debug.len > 0 ? 5 : 4,
		.e_shstrndx = 3 };
	struct why why;

	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	pad(f, TEXT_OFFSET + TEXT_SIZE);
	s[1].sh_offset = f->len;
	buf_put(f, x->eh.data, x->eh.len);
	s[2].sh_offset = f->len;
	buf_put(f, "\x01\x1b\x03", 3);
	cfi_put(f, x->encoding, 1);
	cfi_put(f, CFI_SECTION_VADDR - (INDEX_VADDR + 4), 4);
	cfi_put(f, x->count ? x->count : x->len, 4);
	buf_put(f, x->entries, x->len * sizeof(x->entries[0]));
	s[3].sh_offset = f->len;
	buf_put(f, names, sizeof(names));
	s[4].sh_offset = f->len;
	buf_put(f, x->debug.data, x->debug.len);
	pad(f, (f->len + 7) & ~7UL);
	h.e_shoff = f->len;
	buf_put(f, s, h.e_shnum * sizeof(s[0]));
	p[0] = indexed_load(PF_R | PF_X, TEXT_OFFSET, TEXT_VADDR, TEXT_SIZE);
	p[1] = indexed_load(PF_R, s[1].sh_offset, CFI_SECTION_VADDR, x->eh.len);
	p[2] = indexed_load(PF_R, s[2].sh_offset, INDEX_VADDR, hdr_bytes);
	p[4] = (Elf64_Phdr){ .p_type = PT_NULL };
	p[3] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = INDEX_VADDR };
	if (x->again)
		p[4] = p[0];
	if (x->split) {
		p[0].p_filesz = p[0].p_memsz = x->split;
		p[4] = indexed_load(PF_R | PF_X, TEXT_OFFSET + x->split, TEXT_VADDR + x->split,
			TEXT_SIZE - x->split);
	}
	memcpy(f->data, &h, sizeof(h));
	memcpy(f->data + sizeof(h), p, sizeof(p));
	assert_int_equal(image_init(&x->image, f->data, f->len, &why), 0);
}

/* ---- pages and tables ---------------------------------------------------------------------- */

static struct indexed made;

static int setup(void **state)
{
	(void)state;
	indexed_init(&made);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	indexed_done(&made);
	return 0;
}

static void is_equal(void)
{
	struct page_by_page result;

	for (size_t batch = 1; batch <= PAGE_BY_PAGE_BATCH; batch++) {
		assert_int_equal(page_by_page_compare(&made.image, batch, &result), 0);
		if (result.text[0])
			fail_msg("%zu at once: %s", batch, result.text);
		assert_true(result.indexed);
	}
}

static void functions_at_the_ends_of_pages_are_as_in_the_whole_table(void **state)
{
	/* The text begins in the middle of a page of the file. */
	uint64_t end = 2 * PAGE - TEXT_OFFSET;

	(void)state;
	indexed_add(&made, 0, 0x40, CFI("\x48\x0e\x10"));
	indexed_add(&made, end - 0x30, 0x28, CFI("\x44\x0e\x18")); /* 8 bytes of padding */
	indexed_add(&made, end, 0x10, CFI("\x41\x0e\x20"));
	indexed_add(&made, end + PAGE - 0x20, 0x40, CFI("\x4f\x0e\x20\x44\x0e\x28"));
	indexed_add(&made, end + 2 * PAGE - 0x40, 0x31, CFI("\x0e\x30")); /* 15 bytes */
	indexed_add(&made, end + 2 * PAGE, 0x20, CFI("\x0e\x38"));
	indexed_add(&made, end + 3 * PAGE - 0x80, 0x70, CFI("\x0e\x30")); /* 16: no padding */
	indexed_add(&made, end + 3 * PAGE, 0x20, CFI("\x0e\x38"));
	indexed_make(&made);
	is_equal();
}

static void a_function_of_many_pages_and_those_in_it_are_as_in_the_whole_table(void **state)
{
	(void)state;
	indexed_add(&made, 0x100, 0x100, CFI("\x0e\x10"));
	indexed_add(&made, 0x8000, 3 * PAGE,
		CFI("\x04\x00\x00\x01\x00\x0e\x20\x04\x00\x00\x01\x00\x0e\x28"));
	indexed_add(&made, PAGE, 0x100, CFI("\x0e\x40"));
	indexed_add(&made, 2 * PAGE + 0x500, 0x100, CFI("\x0e\x48"));
	indexed_add(&made, 4 * PAGE, 0, CFI(""));
	indexed_add(&made, 5 * PAGE, 0x100, CFI("\x0e\x50"));
	indexed_make(&made);
	is_equal();
}

/* Of some sizes, with gaps of all sorts, in the section in another order than in the text. */
static void add_any(uint32_t seed)
{
	uint64_t starts[INDEXED_MAX], at = 0;
	uint32_t sizes[INDEXED_MAX];
	size_t len = 0;

	srand(seed);
	while (len < INDEXED_MAX - 1) {
		uint32_t size = rand() % 8 ? rand() % 500 : rand() % 60000;

		if (at + size >= TEXT_SIZE)
			break;
		starts[len] = at;
		sizes[len++] = size;
		at += size + (uint32_t)(rand() % 3 ? rand() % 20 : rand() % 5000);
	}
	for (size_t i = len; i > 0; i--) {
		size_t k = (size_t)rand() % i;
		char program[] = "\x44\x0e\x10\x46\x0e\x18\x41\x0e\x08";

		program[2] = (char)(8 * (1 + rand() % 6));
		indexed_add(&made, starts[k], sizes[k],
			(struct cfi_text){ program, (size_t)(rand() % 4) * 3 });
		starts[k] = starts[i - 1];
		sizes[k] = sizes[i - 1];
	}
	indexed_sort(&made);
}

static void any_functions_are_as_in_the_whole_table(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		add_any(seed);
		indexed_make(&made);
		is_equal();
		indexed_done(&made);
		indexed_init(&made);
	}
}

static void a_page_without_functions_has_no_rows(void **state)
{
	const uint32_t numbers[] = { NUMBER(0), NUMBER(PAGE), 1000, UNWIND_ROWS_PAGE_MAX };
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	indexed_add(&made, 0x100, 0x10, CFI(""));
	indexed_add(&made, 4 * PAGE, 0x10, CFI(""));
	indexed_make(&made);
	assert_int_equal(unwind_rows_build_pages(&made.image, numbers, 4, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_PAGES);
	assert_int_equal(rows->view.head->pages_len, 4);
	assert_true(rows->view.pages[0].rows_len > 0);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(rows->view.pages[i].number, numbers[i]);
		assert_int_equal(rows->view.pages[i].rows_len, 0);
	}
}

static void a_file_of_few_pages_is_compiled_whole(void **state)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	indexed_add(&made, PAGE, 0x10, CFI(""));
	indexed_add(&made, PAGE + (UNWIND_ROWS_SMALL_PAGES - 1) * PAGE, 0x10, CFI(""));
	indexed_make(&made);
	assert_int_equal(unwind_rows_begin(&made.image, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_TABLE);
	assert_int_equal(unwind_rows_span(&rows->view), UNWIND_ROWS_SMALL_PAGES);
}

static void an_outline_comes_first_where_there_are_several_pages(void **state)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	indexed_add(&made, PAGE, 0x10, CFI(""));
	indexed_add(&made, 4 * PAGE, 2 * PAGE, CFI(""));
	indexed_make(&made);
	assert_int_equal(unwind_rows_begin(&made.image, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_OUTLINE);
	assert_int_equal(unwind_rows_first(&rows->view), NUMBER(PAGE));
	assert_int_equal(unwind_rows_span(&rows->view), NUMBER(6 * PAGE - 1) - NUMBER(PAGE) + 1);
	assert_int_equal(rows->view.head->used, 2);
}

static void add_a_function_in_each_page(void)
{
	for (uint64_t at = 0; at < TEXT_SIZE; at += PAGE / 2)
		indexed_add(&made, at + 0x10, 0x10, CFI(""));
}

static void code_that_two_segments_show_is_compiled_whole(void **state)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	made.again = true;
	add_a_function_in_each_page();
	indexed_make(&made);
	assert_int_equal(unwind_rows_begin(&made.image, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_TABLE);
}

static void a_page_of_two_segments_counts_once(void **state)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	made.split = 3 * PAGE + PAGE / 4;
	add_a_function_in_each_page();
	indexed_make(&made);
	assert_int_equal(unwind_rows_begin(&made.image, &rows, &why), 0);
	assert_int_equal(rows->view.head->kind, UNWIND_ROWS_OUTLINE);
	assert_int_equal(rows->view.head->used, unwind_rows_span(&rows->view));
}

/* ---- tables that are none, or lie -------------------------------------------------------------
 */

static void swap_starts(void)
{
	struct indexed_entry first = made.entries[0];

	made.entries[0] = made.entries[1];
	made.entries[1] = first;
}

static void state_more(void)
{
	made.count = 1U << 24;
}

static void encode_otherwise(void)
{
	made.encoding = DW_EH_PE_absptr;
}

static void add_debug_frame(void)
{
	cfi_debug_fde(&made.debug, cfi_debug_cie(&made.debug, CFI_X86_64), TEXT(0x900), 0x40,
		CFI("\x0e\x28"));
}

/* Tables that are known to be of no use before a page is asked for. */
static void without_a_valid_table_the_file_is_compiled_whole(void **state)
{
	static void (*const spoilt[])(void) = { swap_starts, state_more, encode_otherwise,
		add_debug_frame };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoilt); i++) {
		_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
		struct rows_outline outline;
		struct why why;

		indexed_add(&made, 0x100, 0x40, CFI("\x0e\x10"));
		indexed_add(&made, 2 * PAGE, 0x40, CFI("\x0e\x18"));
		spoilt[i]();
		indexed_make(&made);
		assert_int_equal(rows_index_outline(&made.image, &outline), -ENODATA);
		assert_int_equal(unwind_rows_begin(&made.image, &rows, &why), 0);
		assert_int_equal(rows->view.head->kind, UNWIND_ROWS_TABLE);
		assert_int_equal(
			rows_find(&rows->view, TEXT_OFFSET + 2 * PAGE).cfa_off, 24);
		indexed_done(&made);
		indexed_init(&made);
	}
}

static void show_another_start(void)
{
	made.entries[1].start += 4;
}

static void show_the_cie(void)
{
	made.entries[1].fde = (int32_t)((int64_t)CFI_SECTION_VADDR - (int64_t)INDEX_VADDR);
}

static void show_what_is_outside(void)
{
	made.entries[1].fde = INT32_MAX;
}

static void leave_one_out(void)
{
	made.entries[1] = made.entries[2];
	made.len--;
}

static void show_one_twice(void)
{
	made.entries[made.len] = made.entries[made.len - 1];
	made.len++;
}

static void show_all_as_one(void)
{
	for (size_t i = 0; i < made.len; i++)
		made.entries[i].start = made.entries[0].start;
}

/* Either what the whole table has, or nothing. */
static void check_spoilt(size_t spoilt)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *whole = NULL;
	struct why why;

	assert_int_equal(unwind_rows_build(&made.image, &whole, &why), 0);
	for (uint32_t number = 0; number < NUMBER(TEXT_SIZE); number++) {
		_cleanup_(unwind_rows_freep) struct unwind_rows *page = NULL;

		if (unwind_rows_build_pages(&made.image, &number, 1, &page, &why) == -ESTALE)
			continue;
		for (uint64_t at = number * PAGE; at < (number + 1) * PAGE; at += 8) {
			struct unwind_rule want = rows_find(&whole->view, at);
			struct unwind_rule have = rows_find(&page->view, at);

			if (have.cfa != CFA_NONE && memcmp(&want, &have, sizeof(want)) != 0)
				fail_msg("spoilt %zu: another rule at %#zx", spoilt, (size_t)at);
		}
	}
}

static void a_table_that_lies_gives_the_same_rows_or_none(void **state)
{
	static void (*const spoilt[])(void) = { show_another_start, show_the_cie,
		show_what_is_outside, leave_one_out, show_one_twice, show_all_as_one };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoilt); i++) {
		indexed_add(&made, 0x100, 0x40, CFI("\x0e\x10"));
		indexed_add(&made, 0x1000, 0x40, CFI("\x0e\x18"));
		indexed_add(&made, 0x2000, 2 * PAGE, CFI("\x0e\x20"));
		indexed_add(&made, 4 * PAGE, 0x40, CFI("\x0e\x28"));
		spoilt[i]();
		indexed_make(&made);
		check_spoilt(i);
		indexed_done(&made);
		indexed_init(&made);
	}
}

static void a_page_costs_no_more_than_the_whole_section_twice(void **state)
{
	static char program[40000]; /* of DW_CFA_nop */
	const uint32_t number = NUMBER(0);
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct why why;

	(void)state;
	/* All entries are the same long record, as no linker would have it. */
	indexed_add(&made, 0x100, 0x40, (struct cfi_text){ program, sizeof(program) });
	while (made.len < INDEXED_MAX)
		made.entries[made.len++] = made.entries[0];
	indexed_make(&made);
	assert_int_equal(
		unwind_rows_build_pages(&made.image, &number, 1, &rows, &why), -ESTALE);
}

static void the_programs_of_this_host_are_as_in_the_whole_table(void **state)
{
	static const char *const paths[] = { "/proc/self/exe", "/bin/bash", "/bin/dash",
		"/usr/bin/perl", "/usr/bin/python3", "/usr/bin/ld.bfd",
		"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/aarch64-linux-gnu/libc.so.6" };
	size_t pages = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(buf_done) struct buf file = BUF_INIT;
		struct page_by_page result;
		struct image image;
		struct why why;

		if (fd_read_path(paths[i], FILE_BYTES_MAX, &file) < 0)
			continue;
		assert_int_equal(image_init(&image, file.data, file.len, &why), 0);
		assert_int_equal(page_by_page_compare(&image, 1 + i % 8, &result), 0);
		if (result.text[0])
			fail_msg("%s: %s", paths[i], result.text);
		pages += result.pages;
		image_done(&image);
	}
	assert_true(pages > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_at_the_ends_of_pages_are_as_in_the_whole_table),
		TEST(a_function_of_many_pages_and_those_in_it_are_as_in_the_whole_table),
		TEST(any_functions_are_as_in_the_whole_table),
		TEST(a_page_without_functions_has_no_rows),
		TEST(a_file_of_few_pages_is_compiled_whole),
		TEST(an_outline_comes_first_where_there_are_several_pages),
		TEST(code_that_two_segments_show_is_compiled_whole),
		TEST(a_page_of_two_segments_counts_once),
		TEST(without_a_valid_table_the_file_is_compiled_whole),
		TEST(a_table_that_lies_gives_the_same_rows_or_none),
		TEST(a_page_costs_no_more_than_the_whole_section_twice),
		TEST(the_programs_of_this_host_are_as_in_the_whole_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
