/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of this program, of the vDSO and of the fixtures, and that no foreign bytes are believed. */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/fd.h"
#include "elf/eh_frame.h"
#include "rows_find.h"
#include "rows_made.h"

struct against {
	struct image *image;
	const struct unwind_rows_view *view;
	size_t checked;
};

static bool same(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Each row at its first and its last byte. */
static int check_fde(void *arg, const struct eh_frame_fde *fde)
{
	struct against *a = arg;

	for (size_t i = 0; i < fde->rows_len; i++) {
		uint64_t first = fde->start + fde->rows[i].delta;
		uint64_t end =
			fde->start + (i + 1 < fde->rows_len ? fde->rows[i + 1].delta : fde->size);
		uint64_t from, to;
		struct unwind_rule rule;

		assert_true(image_vaddr_to_offset(a->image, first, &from));
		assert_true(image_vaddr_to_offset(a->image, end - 1, &to));
		rule = rows_find(a->view, from);
		if (!same(&rule, &fde->rows[i].rule))
			fail_msg("at %#" PRIx64, first);
		rule = rows_find(a->view, to);
		if (!same(&rule, &fde->rows[i].rule))
			fail_msg("at %#" PRIx64, end - 1);
		a->checked++;
	}
	return 0;
}

/* Rows of a real image against its functions one by one. */
static void check_image(const void *data, size_t len, size_t rows_min)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct eh_frame_stats stats = { 0 };
	struct eh_frame eh;
	struct image image;
	struct against a = { .image = &image };
	struct why why;

	assert_int_equal(image_init(&image, data, len, &why), 0);
	assert_int_equal(unwind_rows_build(&image, &rows, &why), 0);
	a.view = &rows->view;
	assert_int_equal(eh_frame_find(&image, &eh), 0);
	assert_int_equal(eh_frame_walk(&eh, check_fde, &a, &stats), 0);
	assert_int_equal(stats.fdes_bad, 0);
	assert_true(a.checked >= rows_min);
	image_done(&image);
}

static size_t vdso_size(uintptr_t start)
{
	_cleanup_(buf_done) struct buf maps = BUF_INIT;
	uintptr_t from, to;
	char *line;

	assert_int_equal(fd_read_path("/proc/self/maps", FILE_MAX, &maps), 0);
	line = strstr(maps.data, "[vdso]");
	if (!line)
		return 0;
	while (line > maps.data && line[-1] != '\n')
		line--;
	assert_int_equal(sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to), 2);
	assert_int_equal(from, start);
	return to - from;
}

static void the_vdso_has_rows_for_all_of_its_functions(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	size_t size = start ? vdso_size(start) : 0;

	(void)state;
	if (size == 0)
		skip();
	check_image((const void *)start, size, 10);
}

static void this_program_has_rows_for_all_of_its_functions(void **state)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	assert_int_equal(fd_read_path("/proc/self/exe", FILE_MAX, &file), 0);
	check_image(file.data, file.len, 200);
}

struct golden {
	uint64_t vaddr;
	struct unwind_rule rule;
};

static void check_golden(const char *path, const struct golden *table, size_t len)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct image image;
	struct why why;

	if (fd_read_path(path, FILE_MAX, &file) < 0)
		fail_msg("%s: not there; tests run from the tree's top", path);
	assert_int_equal(image_init(&image, file.data, file.len, &why), 0);
	assert_int_equal(unwind_rows_build(&image, &rows, &why), 0);
	for (size_t i = 0; i < len; i++) {
		struct unwind_rule rule = { 0 };
		uint64_t offset;

		if (image_vaddr_to_offset(&image, table[i].vaddr, &offset))
			rule = rows_find(&rows->view, offset);
		if (!same(&rule, &table[i].rule))
			fail_msg("%s at %#" PRIx64 ": cfa %u %u%+d%+d ra %u%+d fp %u%+d", path,
				table[i].vaddr, rule.cfa, rule.cfa_reg, rule.cfa_off, rule.cfa_add,
				rule.ra, rule.ra_off, rule.fp, rule.fp_off);
	}
	image_done(&image);
}

#define SP(off)                                                              \
	{                                                                    \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8 \
	}

/* What readelf and objdump say of cfi-x86_64.so. */
static void golden_x86_64_unwinds_plt_realigned_and_outermost_frames(void **state)
{
	static const struct unwind_rule realigned = {
		.cfa = CFA_DEREF, .cfa_reg = 6, .cfa_off = -16, .ra_off = -8, .fp = FP_AT_FP
	};
	const struct golden table[] = {
		{ 0x2bf, { 0 } },
		{ 0x2c0, SP(16) },
		{ 0x2c6, SP(24) },
		{ 0x2d0, { .cfa = CFA_PLT, .cfa_off = 11, .ra_off = -8 } },
		{ 0x2df, { .cfa = CFA_PLT, .cfa_off = 11, .ra_off = -8 } },
		{ 0x2e0, SP(8) },
		{ 0x2f4, SP(16) },
		{ 0x325, SP(32) },
		{ 0x335, { .cfa = CFA_REG, .cfa_reg = 10, .ra_off = -8 } },
		{ 0x344, { .cfa = CFA_REG, .cfa_reg = 10, .ra_off = -8, .fp = FP_AT_FP } },
		{ 0x34f, realigned },
		{ 0x388, realigned },
		{ 0x3c1, SP(60016) },
		{ 0x3d0, { .cfa = CFA_REG, .cfa_reg = 7, .cfa_off = 8, .ra = RA_UNDEFINED } },
		{ 0x3d9, { 0 } },
	};

	(void)state;
	check_golden("tests/golden/cfi-x86_64.so", table, ARRAY_SIZE(table));
}

static void golden_arm64_unwinds_signed_leaf_and_outermost_frames(void **state)
{
	static const struct unwind_rule leaf = {
		.cfa = CFA_REG, .cfa_reg = 31, .ra = RA_REG, .ra_off = 30
	};
	const struct golden table[] = {
		{ 0x1051b, { 0 } },
		{ 0x1051c, leaf },
		{ 0x1053b, leaf },
		{ 0x1053c,
			{ .cfa = CFA_REG,
				.cfa_reg = 29,
				.cfa_off = 32,
				.ra_off = -24,
				.fp = FP_AT_CFA,
				.fp_off = -32 } },
		{ 0x105ff,
			{ .cfa = CFA_REG,
				.cfa_reg = 29,
				.cfa_off = 64,
				.ra_off = -56,
				.fp = FP_AT_CFA,
				.fp_off = -64 } },
		{ 0x10654, { .cfa = CFA_REG, .cfa_reg = 31, .ra = RA_UNDEFINED } },
		{ 0x1065c, { 0 } },
	};

	(void)state;
	check_golden("tests/golden/cfi-arm64.so", table, ARRAY_SIZE(table));
}

/* Rows to spoil: two pages, five rules. */
static void build_for_view(struct made *m)
{
	_cleanup_(buf_done) struct buf eh = BUF_INIT;
	size_t cie = cfi_cie_usual(&eh);

	cfi_fde(&eh, cie, TEXT(0x100), 0x400, CFI("\x41\x0e\x10\x41\x0e\x18\x03\0\x02\x0e\x20"));
	cfi_fde(&eh, cie, TEXT(0x10100), 0x400, CFI("\x41\x0e\x10\x41\x0e\x18\x03\0\x02\x0e\x20"));
	assert_int_equal(build(m, &eh, NULL), 0);
	assert_int_equal(m->rows->view.head->pages_len, 2);
}

static void spoilt_rows_are_refused(void **state)
{
	enum { HEAD, PAGES, RULES, DATA };
	static const struct {
		const char *what;
		int part;
		size_t at;
		uint32_t value;
		size_t size;
	} table[] = {
		{ "magic", HEAD, offsetof(struct unwind_rows_head, magic), 1, 4 },
		{ "more pages", HEAD, offsetof(struct unwind_rows_head, pages_len), 3, 4 },
		{ "absurd pages", HEAD, offsetof(struct unwind_rows_head, pages_len), 0xffffffff,
			4 },
		{ "fewer pages", HEAD, offsetof(struct unwind_rows_head, pages_len), 1, 4 },
		{ "no rules", HEAD, offsetof(struct unwind_rows_head, rules_len), 0, 4 },
		{ "absurd rules", HEAD, offsetof(struct unwind_rows_head, rules_len), 0x10001, 4 },
		{ "row count", HEAD, offsetof(struct unwind_rows_head, rows_len), 1, 4 },
		{ "data size", HEAD, offsetof(struct unwind_rows_head, data_bytes), 4, 4 },
		{ "pages in no order", PAGES, 0, 9, 4 },
		{ "page beyond all files", PAGES, sizeof(struct unwind_rows_page), 1 << 23, 4 },
		{ "page of no rows", PAGES, offsetof(struct unwind_rows_page, rows_len), 0, 4 },
		{ "page of too many rows", PAGES, offsetof(struct unwind_rows_page, rows_len),
			70000, 4 },
		{ "page elsewhere", PAGES, offsetof(struct unwind_rows_page, data_offset), 4, 4 },
		{ "page larger", PAGES, offsetof(struct unwind_rows_page, data_bytes), 0xfffffff0,
			4 },
		{ "rule 0 is one", RULES, 0, CFA_REG, 1 },
		{ "CFA of unknown kind", RULES, 2 * sizeof(struct unwind_rule), CFA_KINDS, 1 },
		{ "RA of unknown kind", RULES, offsetof(struct unwind_rule, ra), 4, 1 },
		{ "FP of unknown kind", RULES, offsetof(struct unwind_rule, fp), 6, 1 },
		{ "index begins late", DATA, 0, 1, 2 },
		{ "index falls", DATA, 2 * 100, 0, 2 },
		{ "index leads out", DATA, 2 * 100, 0xffff, 2 },
		{ "index ends early", DATA, 2 * ROWS_CHUNKS, 1, 2 },
		{ "unknown rule", DATA, ROWS_INDEX_BYTES, 0xffff, 2 },
	};
	_cleanup_(made_done) struct made m;
	struct unwind_rows_view view;
	uint8_t *bytes;
	size_t size;

	(void)state;
	build_for_view(&m);
	bytes = m.rows->bytes;
	size = m.rows->size;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint8_t *const parts[] = { bytes,
			bytes + ((uintptr_t)m.rows->view.pages - (uintptr_t)bytes),
			bytes + ((uintptr_t)m.rows->view.rules - (uintptr_t)bytes),
			bytes + ((uintptr_t)m.rows->view.data - (uintptr_t)bytes) };
		uint8_t *at = parts[table[i].part] + table[i].at;
		uint8_t was[4];

		memcpy(was, at, sizeof(was));
		memcpy(at, &table[i].value, table[i].size);
		if (unwind_rows_view(bytes, size, &view) != -EBADMSG)
			fail_msg("%s: taken", table[i].what);
		memcpy(at, was, sizeof(was));
		assert_int_equal(unwind_rows_view(bytes, size, &view), 0);
	}
}

static void rows_in_no_order_or_without_a_first_are_refused(void **state)
{
	_cleanup_(made_done) struct made m;
	struct unwind_rows_view view;
	uint8_t *start;

	(void)state;
	build_for_view(&m);
	start = (uint8_t *)m.rows->bytes + m.rows->size -
		unwind_rows_page_data(&m.rows->view, 1).len + ROWS_INDEX_BYTES +
		2 * m.rows->view.pages[1].rows_len;
	assert_int_equal(start[0], 0);
	start[0] = 1;
	assert_int_equal(unwind_rows_view(m.rows->bytes, m.rows->size, &view), -EBADMSG);
	start[0] = 0;
	/* Rows 1 to 3 are in one chunk. */
	start[2] = start[1];
	assert_int_equal(unwind_rows_view(m.rows->bytes, m.rows->size, &view), -EBADMSG);
}

static void rows_of_any_other_size_are_refused(void **state)
{
	_cleanup_(made_done) struct made m;
	_cleanup_(freep) char *copy = NULL;
	struct unwind_rows_view view;

	(void)state;
	build_for_view(&m);
	copy = calloc(1, m.rows->size + 8);
	assert_non_null(copy);
	memcpy(copy, m.rows->bytes, m.rows->size);
	for (size_t size = 0; size < m.rows->size + 8; size++) {
		if (size != m.rows->size)
			assert_int_equal(unwind_rows_view(copy, size, &view), -EBADMSG);
	}
	memmove(copy + 1, copy, m.rows->size);
	assert_int_equal(unwind_rows_view(copy + 1, m.rows->size, &view), -EBADMSG);
}

/* What is let through can be searched anywhere. */
static void randomly_spoilt_rows_are_refused_or_harmless(void **state)
{
	_cleanup_(made_done) struct made m;
	unsigned int taken = 0;
	uint8_t *bytes;

	(void)state;
	build_for_view(&m);
	bytes = m.rows->bytes;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)rand() % m.rows->size;
		uint8_t was = bytes[at];
		struct unwind_rows_view view;

		bytes[at] = (uint8_t)rand();
		if (unwind_rows_view(bytes, m.rows->size, &view) == 0) {
			taken++;
			for (uint64_t off = 0; off < 0x20000; off += 0x35)
				assert_true(rows_find(&view, off).cfa < CFA_KINDS);
		}
		bytes[at] = was;
	}
	assert_true(taken > 0 && taken < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vdso_has_rows_for_all_of_its_functions),
		cmocka_unit_test(this_program_has_rows_for_all_of_its_functions),
		cmocka_unit_test(golden_x86_64_unwinds_plt_realigned_and_outermost_frames),
		cmocka_unit_test(golden_arm64_unwinds_signed_leaf_and_outermost_frames),
		cmocka_unit_test(spoilt_rows_are_refused),
		cmocka_unit_test(rows_in_no_order_or_without_a_first_are_refused),
		cmocka_unit_test(rows_of_any_other_size_are_refused),
		cmocka_unit_test(randomly_spoilt_rows_are_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
