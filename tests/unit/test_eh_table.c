/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by the search table of .eh_frame_hdr, in files made for it and in libc. */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/own.h"
#include "cfi_bytes.h"
#include "elf/eh_frame.h"
#include "elf/eh_table.h"
#include "elf/image.h"
#include "make_elf.h"

#define TEXT_VADDR MAKE_ELF_TEXT_VADDR
#define HEADER_VADDR MAKE_ELF_DATA_VADDR
#define ENTRIES_MAX 4

struct entry {
	uint64_t start, size; /* size 0: no FDE */
	int64_t shown;        /* the start that the table shows, if it is another: the difference */
};

struct table {
	const char *what;
	struct entry entries[ENTRIES_MAX];
	uint8_t encoding;
	uint32_t count_more;
	int err;
	struct {
		uint64_t at;
		struct eh_extent is; /* relative to the text, but for UINT64_MAX */
	} expected[5];
};

#define USUAL (DW_EH_PE_datarel | DW_EH_PE_sdata4)

static const struct table tables[] = {
	{ "functions and what is between them", { { 0x10, 0x10, 0 }, { 0x20, 8, 0 } }, USUAL, 0, 0,
		{ { 0x10, { 0x10, 0x20, true } }, { 0x1f, { 0x10, 0x20, true } },
			{ 0x27, { 0x20, 0x28, true } }, { 0x28, { 0x28, UINT64_MAX, false } } } },
	{ "a function ends where the next one starts", { { 0x10, 0x80, 0 }, { 0x20, 8, 0 } }, USUAL,
		0, 0, { { 0x1f, { 0x10, 0x20, true } }, { 0x30, { 0x28, UINT64_MAX, false } } } },
	{ "of several at one start the longest counts",
		{ { 0x10, 4, 0 }, { 0x10, 16, 0 }, { 0x10, 8, 0 } }, USUAL, 0, 0,
		{ { 0x1f, { 0x10, 0x20, true } }, { 0x20, { 0x20, UINT64_MAX, false } } } },
	{ "an entry with another start than its FDE has no bytes",
		{ { 0x10, 8, 0 }, { 0x20, 16, 4 }, { 0x40, 8, 0 } }, USUAL, 0, 0,
		{ { 0x23, { 0x18, 0x24, false } }, { 0x26, { 0x24, 0x40, false } },
			{ 0x41, { 0x40, 0x48, true } } } },
	{ "a table that is not sorted is none", { { 0x20, 8, 0 }, { 0x10, 8, 0 } }, USUAL, 0,
		-ENODATA, { { 0 } } },
	{ "another encoding is none", { { 0x10, 8, 0 } }, DW_EH_PE_absptr, 0, -ENODATA, { { 0 } } },
	{ "more entries than bytes are none", { { 0x10, 8, 0 } }, USUAL, 1U << 20, -ENODATA,
		{ { 0 } } },
	{ "no entries are none", { { 0 } }, USUAL, 0, -ENODATA, { { 0 } } },
};

static void make(struct make_elf *m, const struct table *table)
{
	_cleanup_(buf_done) struct buf cfi = BUF_INIT, header = BUF_INIT;
	size_t cie = cfi_cie_usual(&cfi);
	uint32_t count = 0, offsets[ENTRIES_MAX];
	unsigned int index;

	for (; count < ENTRIES_MAX && table->entries[count].size > 0; count++) {
		const struct entry *e = &table->entries[count];

		offsets[count] = (uint32_t)cfi.len;
		cfi_fde(&cfi, cie, TEXT_VADDR + e->start, (uint32_t)e->size, CFI(""));
	}
	buf_put(&header, "\x01\x1b\x03", 3);
	cfi_put(&header, table->encoding, 1);
	cfi_put(&header, CFI_SECTION_VADDR - (HEADER_VADDR + 4), 4);
	cfi_put(&header, count + table->count_more, 4);
	for (uint32_t i = 0; i < count; i++) {
		const struct entry *e = &table->entries[i];

		cfi_put(&header, TEXT_VADDR + e->start + (uint64_t)e->shown - HEADER_VADDR, 4);
		cfi_put(&header, CFI_SECTION_VADDR + offsets[i] - HEADER_VADDR, 4);
	}
	make_elf_init(m);
	memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE / 2, header.data,
		header.len);
	index = make_elf_section(m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, cfi.data, cfi.len);
	m->sections[index].sh_addr = CFI_SECTION_VADDR;
	index = make_elf_header(m, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC);
	m->sections[index].sh_addr = HEADER_VADDR;
	make_elf_finish(m);
}

static void check(struct eh_table *found, const struct table *table)
{
	for (size_t i = 0; i < 5 && table->expected[i].at > 0; i++) {
		struct eh_extent is = eh_table_find(found, TEXT_VADDR + table->expected[i].at);
		struct eh_extent wanted = table->expected[i].is;

		wanted.end += wanted.end == UINT64_MAX ? 0 : TEXT_VADDR;
		if (is.start != TEXT_VADDR + wanted.start || is.end != wanted.end ||
			is.function != wanted.function)
			fail_msg("0x%lx: %lx to %lx, %d", table->expected[i].at,
				is.start - TEXT_VADDR, is.end - TEXT_VADDR, is.function);
	}
}

static void each_table_is_searched(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct eh_table found = { 0 };
		struct make_elf m;
		struct image image;
		struct why why;

		print_message("%s\n", tables[i].what);
		make(&m, &tables[i]);
		assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(eh_table_open(&image, &found), tables[i].err);
		check(&found, &tables[i]);
		eh_table_done(&found);
		image_done(&image);
		make_elf_done(&m);
	}
}

/* ---- libc ------------------------------------------------------------------------------------ */

struct walked {
	struct eh_table table;
	size_t fdes;
};

static int on_frame(void *arg, const struct eh_frame_fde *fde)
{
	struct walked *w = arg;
	struct eh_extent first = eh_table_find(&w->table, fde->start);
	struct eh_extent last = eh_table_find(&w->table, fde->start + fde->size - 1);

	w->fdes++;
	assert_true(first.function && first.start == fde->start);
	assert_true(last.function);
	assert_true(last.start == first.start || last.start == first.end);
	return 0;
}

static void each_fde_of_libc_is_found(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct eh_frame_stats stats = { 0 };
	struct walked walked = { 0 };
	struct eh_frame eh;
	struct image image;
	struct why why;
	Dl_info info;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)qsort, &info) != 0);
	assert_int_equal(fd_read_path(info.dli_fname, 1U << 26, &bytes), 0);
	assert_int_equal(image_init(&image, bytes.data, bytes.len, &why), 0);
	assert_int_equal(eh_table_open(&image, &walked.table), 0);
	assert_int_equal(eh_frame_find(&image, &eh), 0);
	assert_int_equal(eh_frame_walk_ranges(&eh, on_frame, &walked, &stats), 0);
	assert_int_equal(walked.fdes, walked.table.len);
	eh_table_done(&walked.table);
	image_done(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_table_is_searched),
		cmocka_unit_test(each_fde_of_libc_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
