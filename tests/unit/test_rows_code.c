/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of places where the code tells better than the CFI. */
#include "unit.h"

#include "rows_find.h"
#include "rows_made.h"

enum { RSP = 7, R10 = 10 };

static void make_with_code(
	struct made *m, const struct buf *eh, uint64_t at, const char *code, size_t len)
{
	struct why why;

	*m = (struct made){ 0 };
	make_file(&m->file, eh, NULL, true);
	memset(m->file.data + TEXT_OFFSET, 0xc3, TEXT_SIZE);
	memcpy(m->file.data + TEXT_OFFSET + at, code, len);
	assert_int_equal(image_init(&m->image, m->file.data, m->file.len, &why), 0);
	assert_int_equal(unwind_rows_build(&m->image, &m->rows, &why), 0);
}

static struct unwind_rule rule_at(const struct made *m, uint64_t at)
{
	return rows_find(&m->rows->view, TEXT_OFFSET + at);
}

/* GCC's: CFA r10+0 and rbp at [rbp] from 0x102 on; CFA rsp+8 at 0x120, where the return is. */
#define REALIGNED CFI("\x42\x0c\x0a\x00\x10\x06\x02\x76\x00\x5e\x0c\x07\x08")

static void the_end_of_a_realigned_function_has_its_callers_frame_pointer(void **state)
{
	static const char *const ends[] = { "\x49\x8d\x62\xf8\xc3", "\x49\x8d\x65\xf8\xc3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_(buf_done) struct buf eh = BUF_INIT;
		_cleanup_(made_done) struct made m = { 0 };

		cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, REALIGNED);
		make_with_code(&m, &eh, 0x11c, ends[i], 5);
		assert_int_equal(rule_at(&m, 0x102).fp, FP_AT_FP);
		assert_int_equal(rule_at(&m, 0x11b).fp, FP_AT_FP);
		assert_int_equal(rule_at(&m, 0x11c).fp, FP_SAME);
		assert_int_equal(rule_at(&m, 0x11c).cfa_reg, R10);
		assert_int_equal(rule_at(&m, 0x11f).fp, FP_SAME);
		assert_int_equal(rule_at(&m, 0x120).fp, FP_SAME);
		assert_int_equal(rule_at(&m, 0x120).cfa_reg, RSP);
	}
}

static void other_code_keeps_the_rows_of_its_cfi(void **state)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	_cleanup_(made_done) struct made m = { 0 };

	(void)state;
	cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, REALIGNED);
	make_with_code(&m, &eh, 0x11c, "\x48\x8d\x62\xf8\xc3", 5);
	assert_int_equal(rule_at(&m, 0x11c).fp, FP_AT_FP);
	assert_int_equal(rule_at(&m, 0x120).fp, FP_AT_FP);
}

static void a_function_that_leaves_its_stack_is_outermost_and_so_is_the_byte_before(void **state)
{
	static const char *const begins[] = { "\x90\x48\x89\xdc",
		"\x00\xf3\x0f\x1e\xfa\x48\x89\xdc", "\xcc\x4c\x89\xe4" };
	static const size_t lens[] = { 4, 8, 4 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		_cleanup_(buf_done) struct buf eh = BUF_INIT;
		_cleanup_(made_done) struct made m = { 0 };
		size_t cie = cfi_cie_usual(&eh);

		cfi_fde(&eh, cie, TEXT(0xc0), 0x38, CFI("\x41\x0e\x10"));
		cfi_fde(&eh, cie, TEXT(0x100), 0x40, CFI("\x44\x0e\x10"));
		make_with_code(&m, &eh, 0xff, begins[i], lens[i]);
		assert_int_equal(rule_at(&m, 0xfe).ra, RA_AT_CFA);
		assert_int_equal(rule_at(&m, 0xff).ra, RA_UNDEFINED);
		assert_int_equal(rule_at(&m, 0x100).ra, RA_UNDEFINED);
		assert_int_equal(rule_at(&m, 0x13f).ra, RA_UNDEFINED);
		assert_int_equal(rule_at(&m, 0x150).cfa, CFA_NONE);
	}
}

static void a_function_that_uses_its_stack_is_not_outermost(void **state)
{
	/* mov %rbx,%rbp; mov %rsp,%rbx; mov %ebx,%esp; and one that is cut by the file's end */
	static const char *const begins[] = { "\x90\x48\x89\xdd", "\x90\x48\x89\xe3",
		"\x90\x89\xdc\x90" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		_cleanup_(buf_done) struct buf eh = BUF_INIT;
		_cleanup_(made_done) struct made m = { 0 };

		cfi_fde(&eh, cfi_cie_usual(&eh), TEXT(0x100), 0x40, CFI("\x44\x0e\x10"));
		make_with_code(&m, &eh, 0xff, begins[i], 4);
		assert_int_equal(rule_at(&m, 0x100).ra, RA_AT_CFA);
		assert_int_equal(rule_at(&m, 0xff).cfa, CFA_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_realigned_function_has_its_callers_frame_pointer),
		cmocka_unit_test(other_code_keeps_the_rows_of_its_cfi),
		cmocka_unit_test(
			a_function_that_leaves_its_stack_is_outermost_and_so_is_the_byte_before),
		cmocka_unit_test(a_function_that_uses_its_stack_is_not_outermost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
