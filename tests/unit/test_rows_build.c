/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of images made here: what holds where, and how it is packed. */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>

#include "rows_find.h"
#include "rows_made.h"
#include "unwind/rule_set.h"

/* The CFA's offset from rsp at a place in the text; 0: no function, -1: not supported. */
static int cfa_at(const struct made *m, uint64_t off)
{
	struct unwind_rule rule = rows_find(&m->rows->view, TEXT_OFFSET + off);

	if (rule.cfa == CFA_NONE)
		return 0;
	return rule.cfa == CFA_UNSUPPORTED ? -1 : rule.cfa_off;
}

struct place {
	uint64_t off;
	int cfa;
};

static void check_places(const struct made *m, const struct place *places, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int cfa = cfa_at(m, places[i].off);

		if (cfa != places[i].cfa)
			fail_msg("at %#" PRIx64 ": %d, not %d", places[i].off, cfa, places[i].cfa);
	}
}

static void functions_in_any_order_are_found_by_file_offset(void **state)
{
	static const struct place places[] = { { 0, 0 }, { 0xff, 0 }, { 0x100, 8 }, { 0x107, 8 },
		{ 0x108, 16 }, { 0x13f, 16 }, { 0x140, 0 }, { 0x1ff, 0 }, { 0x200, 8 },
		{ 0x201, 24 }, { 0x23f, 24 }, { 0x240, 0 }, { 0x10000, 0 }, { 1ULL << 37, 0 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);

	(void)state;
	cfi_fde(&eh, cie, TEXT(0x200), 0x40, CFI("\x41\x0e\x18"));
	cfi_fde(&eh, cie, TEXT(0x100), 0x40, CFI("\x48\x0e\x10"));
	assert_int_equal(build(&m, &eh, NULL), 0);
	check_places(&m, places, ARRAY_SIZE(places));
	assert_int_equal(m.rows->view.head->pages_len, 1);
	/* Nothing, 8, 16, nothing, 8, 24, nothing. */
	assert_int_equal(m.rows->view.head->rows_len, 7);
	assert_int_equal(m.rows->view.head->stats.fdes, 2);
}

static void short_gaps_are_padding_and_long_ones_are_not(void **state)
{
	static const struct place places[] = { { 0x10f, 16 }, { 0x110, 16 }, { 0x11e, 16 },
		{ 0x11f, 8 }, { 0x12e, 8 }, { 0x12f, 0 }, { 0x13e, 0 }, { 0x13f, 8 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);

	(void)state;
	cfi_fde(&eh, cie, TEXT(0x100), 0x10, CFI("\x41\x0e\x10"));
	cfi_fde(&eh, cie, TEXT(0x11f), 0x10, CFI(""));
	cfi_fde(&eh, cie, TEXT(0x13f), 0x10, CFI(""));
	assert_int_equal(build(&m, &eh, NULL), 0);
	check_places(&m, places, ARRAY_SIZE(places));
}

#define BYTES(string) string, sizeof(string) - 1

/* A function of less than the alignment, as C libraries have them: no record covers it. */
static void code_in_a_short_gap_belongs_to_nobody(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int32_t cfa;
	} rows[] = { { BYTES("\x90"), 16 }, { BYTES("\x66\x90\xcc\xcc"), 16 },
		{ BYTES("\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), 16 },
		{ BYTES("\x0f\x1f\x40\x00\x0f\x1f\x44\x00\x00"), 16 },
		{ BYTES("\x0f\x1f\x80\x01\x02\x03\x04\x0f\x1f\x00"), 16 },
		{ BYTES("\x0f\x05\x48\x85\xc0\x7c\x0d\x74\x01\xc3"), 0 },
		{ BYTES("\x90\xc3"), 0 }, { BYTES("\x0f\x1f\x00\xc3"), 0 } };

	struct why why;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf eh = BUF_INIT;
		_cleanup_(made_done) struct made m;
		size_t cie = cfi_cie_usual(&eh);

		cfi_fde(&eh, cie, TEXT(0x100), 0x10, CFI("\x41\x0e\x10"));
		cfi_fde(&eh, cie, TEXT(0x110) + rows[i].len, 0x10, CFI(""));
		m = (struct made){ 0 };
		make_file(&m.file, &eh, NULL, true);
		memcpy(m.file.data + TEXT_OFFSET + 0x110, rows[i].bytes, rows[i].len);
		assert_int_equal(image_init(&m.image, m.file.data, m.file.len, &why), 0);
		assert_int_equal(unwind_rows_build(&m.image, &m.rows, &why), 0);
		check_places(&m,
			(const struct place[]){ { 0x10f, 16 }, { 0x110, rows[i].cfa },
				{ 0x110 + rows[i].len, 8 } },
			3);
	}
}

static void of_overlapping_functions_the_later_start_holds(void **state)
{
	static const struct place places[] = { { 0xff, 0 }, { 0x100, 16 }, { 0x110, 24 },
		{ 0x11f, 24 }, { 0x120, 32 }, { 0x12f, 32 }, { 0x130, 24 }, { 0x13f, 24 },
		{ 0x140, 40 }, { 0x1ff, 40 }, { 0x200, 48 }, { 0x23f, 48 }, { 0x240, 0 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);

	(void)state;
	/* The outer one changes its row while it is hidden. */
	cfi_fde(&eh, cie, TEXT(0x100), 0x100, CFI("\x0e\x10\x02\x15\x0e\x28"));
	cfi_fde(&eh, cie, TEXT(0x110), 0x30, CFI("\x0e\x18"));
	cfi_fde(&eh, cie, TEXT(0x120), 0x10, CFI("\x0e\x20"));
	cfi_fde(&eh, cie, TEXT(0x200), 0x40, CFI("\x0e\x30"));
	assert_int_equal(build(&m, &eh, NULL), 0);
	check_places(&m, places, ARRAY_SIZE(places));
}

static void of_functions_that_start_together_the_shorter_and_then_the_first_holds(void **state)
{
	static const struct place places[] = { { 0x100, 16 }, { 0x10f, 16 }, { 0x110, 24 },
		{ 0x13f, 24 }, { 0x200, 32 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);

	(void)state;
	cfi_fde(&eh, cie, TEXT(0x100), 0x10, CFI("\x0e\x10"));
	cfi_fde(&eh, cie, TEXT(0x100), 0x40, CFI("\x0e\x18"));
	cfi_fde(&eh, cie, TEXT(0x200), 0x40, CFI("\x0e\x20"));
	cfi_fde(&eh, cie, TEXT(0x200), 0x40, CFI("\x0e\x28"));
	assert_int_equal(build(&m, &eh, NULL), 0);
	check_places(&m, places, ARRAY_SIZE(places));
}

static void debug_frame_holds_where_eh_frame_says_nothing(void **state)
{
	static const struct place places[] = { { 0x0f0, 32 }, { 0x0ff, 32 }, { 0x100, 8 },
		{ 0x120, 8 }, { 0x13f, 8 }, { 0x140, 32 }, { 0x15f, 32 }, { 0x160, 0 },
		{ 0x300, 40 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT, debug = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_debug_cie(&debug, CFI_X86_64);

	(void)state;
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, CFI(""));
	cfi_debug_fde(&debug, cie, TEXT(0xf0), 0x70, CFI("\x0e\x20"));
	cfi_debug_fde(&debug, cie, TEXT(0x120), 0x8, CFI("\x0e\x30"));
	cfi_debug_fde(&debug, cie, TEXT(0x300), 0x40, CFI("\x0e\x28"));
	cfi_debug_fde(&debug, cie, 0, 0x40, CFI("\x0e\x28")); /* of a discarded section */
	assert_int_equal(build(&m, &eh, &debug), 0);
	buf_done(&debug);
	check_places(&m, places, ARRAY_SIZE(places));
	assert_int_equal(m.rows->view.head->stats.fdes_outside, 1);
	assert_int_equal(m.rows->view.head->stats.fdes, 5);
}

static void broken_debug_frame_costs_only_its_rest(void **state)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT, debug = BUF_INIT;
	_cleanup_(made_done) struct made m;

	(void)state;
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, CFI(""));
	cfi_debug_fde(
		&debug, cfi_debug_cie(&debug, CFI_X86_64), TEXT(0x300), 0x40, CFI("\x0e\x28"));
	buf_put(&debug, "\x99\0\0\0\0", 5);
	assert_int_equal(build(&m, &eh, &debug), 0);
	assert_int_equal(cfa_at(&m, 0x100), 8);
	assert_int_equal(cfa_at(&m, 0x300), 40);
	assert_int_equal(m.rows->view.head->stats.debug_bad, 1);
	made_done(&m);
	/* .eh_frame itself is another matter. */
	buf_put(&eh, "\x99\0\0\0\0", 5);
	assert_int_equal(build(&m, &eh, NULL), -EBADMSG);
}

static void functions_outside_of_the_text_are_counted_and_cut_at_its_end(void **state)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);

	(void)state;
	cfi_fde(&eh, cie, CFI_SECTION_VADDR, 0x40, CFI(""));
	cfi_fde(&eh, cie, TEXT_VADDR - 1, 0x40, CFI(""));
	cfi_fde(&eh, cie, TEXT(TEXT_SIZE), 0x40, CFI(""));
	cfi_fde(&eh, cie, TEXT(TEXT_SIZE - 0x10), 0x40, CFI("\x42\x0e\x10\x5e\x0e\x18"));
	assert_int_equal(build(&m, &eh, NULL), 0);
	assert_int_equal(m.rows->view.head->stats.fdes_outside, 3);
	assert_int_equal(cfa_at(&m, TEXT_SIZE - 1), 16);
	assert_int_equal(cfa_at(&m, TEXT_SIZE), 0);
	assert_int_equal(cfa_at(&m, TEXT_SIZE + 0x10), 0);
}

static void a_function_across_pages_has_a_row_at_each_page_start(void **state)
{
	static const struct place places[] = { { 0xf, 0 }, { 0x10, 8 }, { 0xefff, 8 },
		{ 0xf000, 8 }, { 0x1f000, 8 }, { 0x2ffff, 8 }, { 0x30000, 16 }, { 0x3001f, 16 },
		{ 0x30020, 0 }, { 0x4f100, 8 } };
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	size_t cie = cfi_cie_usual(&eh);
	const struct unwind_rows_view *v;

	(void)state;
	cfi_fde(&eh, cie, TEXT(0x10), 0x30010, CFI("\x04\xf0\xff\x02\x00\x0e\x10"));
	cfi_fde(&eh, cie, TEXT(0x4f100), 0x40, CFI(""));
	assert_int_equal(build(&m, &eh, NULL), 0);
	check_places(&m, places, ARRAY_SIZE(places));
	v = &m.rows->view;
	/* The text begins in page 0; page 4 has nothing and is not there. */
	assert_int_equal(v->head->pages_len, 5);
	assert_int_equal(v->pages[3].number, 3);
	assert_int_equal(v->pages[4].number, 5);
	for (uint32_t i = 0; i < v->head->pages_len; i++) {
		struct bytes data = unwind_rows_page_data(v, i);

		assert_int_equal(data.len % 4, 0);
		assert_int_equal(data.len, (ROWS_INDEX_BYTES + 3 * v->pages[i].rows_len + 3) & ~3U);
		assert_int_equal(data.data[ROWS_INDEX_BYTES + 2 * v->pages[i].rows_len], 0);
	}
}

static void a_function_that_ends_with_its_page_opens_no_other(void **state)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m;

	(void)state;
	/* File offset 0x10000 is the page's end. */
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0xefc0), 0x40, CFI(""));
	assert_int_equal(build(&m, &eh, NULL), 0);
	assert_int_equal(cfa_at(&m, 0xefff), 8);
	assert_int_equal(cfa_at(&m, 0xf000), 0);
	assert_int_equal(m.rows->view.head->rows_len, 2 + 1);
	assert_int_equal(m.rows->view.head->pages_len, 2);
}

static void rules_beyond_what_ids_can_say_become_unsupported(void **state)
{
	_cleanup_(buf_done) struct buf program = BUF_INIT, eh = BUF_INIT;
	_cleanup_(made_done) struct made m;
	uint32_t n = RULE_SET_MAX + 100;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t off = 16 + i;
		unsigned char op[] = { 0x44, 0x0e, 0x80 | (off & 0x7f), 0x80 | (off >> 7 & 0x7f),
			off >> 14 };

		buf_put(&program, op, sizeof(op));
	}
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0), TEXT_SIZE,
		(struct cfi_text){ program.data, program.len });
	assert_int_equal(build(&m, &eh, NULL), 0);
	assert_int_equal(m.rows->view.head->rules_len, RULE_SET_MAX);
	/* Two ids are taken, and one is rsp + 8. */
	assert_int_equal(m.rows->view.head->stats.rules_refused, n - (RULE_SET_MAX - 3));
	assert_int_equal(cfa_at(&m, 4), 16);
	assert_int_equal(cfa_at(&m, 4 * (RULE_SET_MAX - 3ULL)), 15 + RULE_SET_MAX - 3);
	assert_int_equal(cfa_at(&m, 4 * (RULE_SET_MAX - 2ULL)), -1);
}

static void a_page_with_a_row_at_each_byte_becomes_unsupported(void **state)
{
	_cleanup_(buf_done) struct buf program = BUF_INIT, eh = BUF_INIT;
	_cleanup_(made_done) struct made m;

	(void)state;
	for (uint32_t i = 0; i < 0x20000; i++)
		buf_put(&program, i % 2 ? "\x0e\x08\x41" : "\x0e\x10\x41", 3);
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0xe000), 0x20000,
		(struct cfi_text){ program.data, program.len });
	assert_int_equal(build(&m, &eh, NULL), 0);
	assert_int_equal(m.rows->view.head->stats.pages_refused, 1);
	assert_int_equal(cfa_at(&m, 0xe000), 16);
	assert_int_equal(cfa_at(&m, 0xefff), 8);
	assert_int_equal(cfa_at(&m, 0xf000), -1);
	assert_int_equal(cfa_at(&m, 0x1efff), -1);
	assert_int_equal(cfa_at(&m, 0x1f000), 16);
	assert_int_equal(cfa_at(&m, 0x2dfff), 8);
	assert_int_equal(cfa_at(&m, 0x2e000), 0);
}

static void without_section_headers_the_program_header_leads_there(void **state)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m = { 0 };
	struct why why;

	(void)state;
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, CFI(""));
	make_file(&m.file, &eh, NULL, false);
	assert_int_equal(image_init(&m.image, m.file.data, m.file.len, &why), 0);
	assert_int_equal(unwind_rows_build(&m.image, &m.rows, &why), 0);
	assert_int_equal(cfa_at(&m, 0x100), 8);
}

static void a_file_without_call_frames_says_so(void **state)
{
	_cleanup_(made_done) struct made m = { 0 };
	struct why why;

	(void)state;
	assert_int_equal(build(&m, NULL, NULL), -ENODATA);
	m.image.machine = EM_S390;
	assert_int_equal(unwind_rows_build(&m.image, &m.rows, &why), -ENOTSUP);
	assert_non_null(strstr(why.text, "machine"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_in_any_order_are_found_by_file_offset),
		cmocka_unit_test(short_gaps_are_padding_and_long_ones_are_not),
		cmocka_unit_test(code_in_a_short_gap_belongs_to_nobody),
		cmocka_unit_test(of_overlapping_functions_the_later_start_holds),
		cmocka_unit_test(
			of_functions_that_start_together_the_shorter_and_then_the_first_holds),
		cmocka_unit_test(debug_frame_holds_where_eh_frame_says_nothing),
		cmocka_unit_test(broken_debug_frame_costs_only_its_rest),
		cmocka_unit_test(functions_outside_of_the_text_are_counted_and_cut_at_its_end),
		cmocka_unit_test(a_function_across_pages_has_a_row_at_each_page_start),
		cmocka_unit_test(a_function_that_ends_with_its_page_opens_no_other),
		cmocka_unit_test(rules_beyond_what_ids_can_say_become_unsupported),
		cmocka_unit_test(a_page_with_a_row_at_each_byte_becomes_unsupported),
		cmocka_unit_test(without_section_headers_the_program_header_leads_there),
		cmocka_unit_test(a_file_without_call_frames_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
