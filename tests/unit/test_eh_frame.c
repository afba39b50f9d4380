/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame sections made by hand: each format of records and pointers, each way to be spoilt. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "cfi_walk.h"

static void cies_that_cannot_be_read_cost_their_functions(void **state)
{
	static const char long_program[1100];
	static const struct {
		const char *what;
		const char *letters;
		struct cfi_text data;
		struct cfi_text program;
	} table[] = {
		{ "unknown letter", "zRX", CFI_INIT("\x1b\0"), CFI_INIT("") },
		{ "letters without z", "R", CFI_INIT(""), CFI_INIT("") },
		{ "too many letters", "zRSSSSSSSSSS", CFI_INIT("\x1b"), CFI_INIT("") },
		{ "data shorter than its letters", "zPLR", CFI_INIT("\x1b"), CFI_INIT("") },
		{ "indirect pointers", "zR", CFI_INIT("\x9b"), CFI_INIT("") },
		{ "text-relative pointers", "zR", CFI_INIT("\x2b"), CFI_INIT("") },
		{ "data-relative pointers without a base", "zR", CFI_INIT("\x3b"), CFI_INIT("") },
		{ "pointers left out", "zR", CFI_INIT("\xff"), CFI_INIT("") },
		{ "pointers of unknown format", "zR", CFI_INIT("\x15"), CFI_INIT("") },
		{ "advance in a CIE", "zR", CFI_INIT("\x1b"), CFI_INIT("\x41") },
		{ "set_loc in a CIE", "zR", CFI_INIT("\x1b"), CFI_INIT("\x01\0\0\0\0") },
		{ "def_cfa_offset of no CFA", "zR", CFI_INIT("\x1b"), CFI_INIT("\x0e\x08") },
		{ "def_cfa_register of no CFA", "zR", CFI_INIT("\x1b"), CFI_INIT("\x0d\x07") },
		{ "cut program", "zR", CFI_INIT("\x1b"), CFI_INIT("\x0c\xff\xff") },
		{ "very long", "zR", CFI_INIT("\x1b"), { long_program, sizeof(long_program) } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		size_t bad = cfi_cie(&b, table[i].letters, table[i].data, 16, table[i].program);
		struct seen seen;

		cfi_fde(&b, bad, START, SIZE, CFI(""));
		cfi_fde(&b, bad, START, SIZE, CFI(""));
		cfi_fde(&b, cfi_cie_usual(&b), START, SIZE, CFI(""));
		assert_int_equal(walk(&b, &seen), 0);
		if (seen.len != 1 || seen.stats.fdes_bad != 2)
			fail_msg("%s: %zu functions, %u bad", table[i].what, seen.len,
				seen.stats.fdes_bad);
	}
}

#define EVICTED_CIES 3

/* CIEs with one place in the cache, each as large as it may be, and small FDEs that take turns. */
static void cies_that_evict_each_other_end_the_walk(void **state)
{
	static const char nops[512 - 24];
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	size_t cies[EVICTED_CIES];
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < EVICTED_CIES; i++) {
		while (b.len % 512 > 0)
			buf_putc(&b, 0);
		cies[i] = cfi_cie(&b, "zR", CFI("\x1b"), 16,
			(struct cfi_text){ nops, sizeof(nops) });
	}
	for (size_t i = 0; i < 1000; i++)
		cfi_fde(&b, cies[0], START, 0, CFI(""));
	assert_int_equal(walk(&b, &seen), 0);
	for (size_t i = 0; i < 1000; i++)
		cfi_fde(&b, cies[i % EVICTED_CIES], START, 0, CFI(""));
	assert_int_equal(walk(&b, &seen), -EBADMSG);
	assert_in_range(seen.stats.fdes, 1000, 1500);
}

/* Offset of a field in the usual CIE, which lies at the section's start. */
#define CIE_VERSION 8
#define CIE_LETTERS 9

static void spoilt_records_cost_their_functions(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint32_t value;
		size_t size;
	} table[] = {
		{ "CIE of version 2", CIE_VERSION, 2, 1 },
		{ "CIE of version 4 in .eh_frame", CIE_VERSION, 4, 1 },
		{ "CIE that is an FDE", 4, 4, 4 },
		{ "CIE pointer before the section", 28, 29, 4 },
		{ "CIE pointer to itself", 28, 4, 4 },
		{ "CIE pointer into a record", 28, 20, 4 },
		{ "augmentation data longer than the FDE", 40, 0x7f, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		struct seen seen;

		cfi_fde(&b, cfi_cie_usual(&b), START, SIZE, CFI("\x41\x0e\x10"));
		assert_int_equal(walk(&b, &seen), 0);
		assert_int_equal(seen.len, 1);
		memcpy(b.data + table[i].at, &table[i].value, table[i].size);
		assert_int_equal(walk(&b, &seen), 0);
		if (seen.len != 0 || seen.stats.fdes_bad == 0)
			fail_msg("%s: %zu functions", table[i].what, seen.len);
	}
}

static void broken_chain_of_records_is_refused_after_what_came_before(void **state)
{
	static const struct cfi_text tails[] = {
		CFI_INIT("\x10\0\0\0\0"),     /* leads out of the section */
		CFI_INIT("\xf0\xff\xff\xff"), /* reserved */
		CFI_INIT("\xff\xff\xff\xff"), /* 64-bit length, cut off */
		CFI_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), /* absurd */
		CFI_INIT("\xff\xff\xff\xff\0\0\0\0\0\0\0\x80"),
		CFI_INIT("\x03\0\0\0\0\0\0"), /* shorter than an id */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		struct seen seen;

		cfi_fde(&b, cfi_cie_usual(&b), START, SIZE, CFI(""));
		buf_put(&b, tails[i].bytes, tails[i].len);
		if (walk(&b, &seen) != -EBADMSG || seen.len != 1)
			fail_msg("tail %zu: %zu functions", i, seen.len);
	}
}

static void record_of_no_length_ends_a_section_of_unknown_size_only(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct eh_frame eh;
	struct seen seen;
	size_t cie;

	(void)state;
	cie = cfi_cie_usual(&b);
	cfi_fde(&b, cie, START, SIZE, CFI(""));
	cfi_put(&b, 0, 4);
	cfi_fde(&b, cie, START + SIZE, SIZE, CFI(""));
	buf_put(&b, "\0\0", 2); /* padding behind the last record */
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 2);
	eh = section(&b);
	eh.ends_at_zero = true;
	seen = (struct seen){ 0 };
	assert_int_equal(eh_frame_walk(&eh, keep, &seen, &seen.stats), 0);
	assert_int_equal(seen.len, 1);
}

static void functions_without_bytes_are_counted_and_passed_over(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;

	(void)state;
	cfi_fde(&b, cfi_cie_usual(&b), START, 0, CFI("\x41\x0e\x10"));
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 0);
	assert_int_equal(seen.stats.fdes_empty, 1);
	assert_int_equal(seen.stats.fdes_bad, 0);
}

static void each_pointer_encoding_leads_to_the_same_function(void **state)
{
	static const struct {
		uint8_t encoding;
		size_t size;
	} table[] = {
		{ DW_EH_PE_absptr, 8 },
		{ DW_EH_PE_udata2, 2 },
		{ DW_EH_PE_udata4, 4 },
		{ DW_EH_PE_udata8, 8 },
		{ DW_EH_PE_sdata2, 2 },
		{ DW_EH_PE_sdata4, 4 },
		{ DW_EH_PE_sdata8, 8 },
		{ DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4 },
		{ DW_EH_PE_pcrel | DW_EH_PE_sdata8, 8 },
		{ DW_EH_PE_pcrel | DW_EH_PE_udata8, 8 },
		{ DW_EH_PE_pcrel | DW_EH_PE_absptr, 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		char data = (char)table[i].encoding;
		size_t cie = cfi_cie(&b, "zR", (struct cfi_text){ &data, 1 }, 16, CFI_X86_64);
		bool pcrel = table[i].encoding & DW_EH_PE_pcrel;
		size_t begun = cfi_begin(&b);
		struct seen seen;

		cfi_put(&b, b.len - cie, 4);
		cfi_put(&b, START - (pcrel ? CFI_SECTION_VADDR + b.len : 0), table[i].size);
		cfi_put(&b, SIZE, table[i].size);
		cfi_put(&b, 0, 1);
		cfi_end(&b, begun);
		assert_int_equal(walk(&b, &seen), 0);
		if (seen.len != 1 || seen.start[0] != START || seen.size[0] != SIZE)
			fail_msg("encoding %#x: %zu functions", table[i].encoding, seen.len);
	}
}

static void pointers_of_variable_length_are_read(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;
	size_t cie, begun;

	(void)state;
	for (int i = 0; i < 2; i++) {
		cie = cfi_cie(&b, "zR", i ? CFI("\x09") : CFI("\x01"), 16, CFI_X86_64);
		begun = cfi_begin(&b);
		cfi_put(&b, b.len - cie, 4);
		buf_put(&b, "\x80\x80\x01\xc0\0\0", 6); /* START, SIZE, no augmentation data */
		cfi_end(&b, begun);
	}
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(seen.start[i], START);
		assert_int_equal(seen.size[i], SIZE);
	}
}

static void augmentations_of_c_and_cxx_and_arm64_are_passed_over(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;

	(void)state;
	/* A personality by an indirect pointer, the table's encoding, ours; keys and tags. */
	cfi_fde(&b, cfi_cie(&b, "zPLR", CFI("\x9b\1\2\3\4\x1b\x1b"), 16, CFI_X86_64), START, SIZE,
		CFI(""));
	cfi_fde(&b, cfi_cie(&b, "zRBG", CFI("\x1b"), 16, CFI_X86_64), START, SIZE, CFI(""));
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 2);
	assert_int_equal(seen.start[0], START);
}

static void lengths_of_64_bits_are_read(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;
	size_t cie;

	(void)state;
	cie = cfi_cie_usual(&b);
	buf_put(&b, "\xff\xff\xff\xff\x10\0\0\0\0\0\0\0", 12);
	cfi_put(&b, b.len - cie, 4);
	cfi_put(&b, START - (CFI_SECTION_VADDR + b.len), 4);
	cfi_put(&b, SIZE, 4);
	buf_put(&b, "\0\x41\x0e\x10", 4);
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 1);
	assert_int_equal(seen.start[0], START);
	assert_int_equal(seen.rows_len[0], 2);
}

static void debug_frame_is_read_in_both_formats_and_all_versions(void **state)
{
	static const struct {
		const char *what;
		struct cfi_text cie; /* with its length and id */
		bool wide;
		bool good;
	} table[] = {
		{ "version 1",
			CFI_INIT("\x10\0\0\0\xff\xff\xff\xff\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01"
				 "\0\0"),
			false, true },
		{ "version 3",
			CFI_INIT("\x10\0\0\0\xff\xff\xff\xff\x03\0\x01\x78\x10\x0c\x07\x08\x90\x01"
				 "\0\0"),
			false, true },
		{ "version 4",
			CFI_INIT("\x10\0\0\0\xff\xff\xff\xff\x04\0\x08\0\x01\x78\x10\x0c\x07\x08"
				 "\x90\x01"),
			false, true },
		{ "version 4, addresses of 4 bytes",
			CFI_INIT("\x10\0\0\0\xff\xff\xff\xff\x04\0\x04\0\x01\x78\x10\x0c\x07\x08"
				 "\x90\x01"),
			false, false },
		{ "version 4, segments",
			CFI_INIT("\x10\0\0\0\xff\xff\xff\xff\x04\0\x08\x04\x01\x78\x10\x0c\x07\x08"
				 "\x90\x01"),
			false, false },
		{ "version 4, 64-bit",
			CFI_INIT(
				"\xff\xff\xff\xff\x14\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
				"\x04\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01"),
			true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		struct seen seen = { 0 };
		struct eh_frame eh;

		buf_put(&b, table[i].cie.bytes, table[i].cie.len);
		if (table[i].wide)
			cfi_put(&b, 0xffffffff, 4);
		cfi_put(&b, table[i].wide ? 27 : 23, table[i].wide ? 8 : 4);
		cfi_put(&b, 0, table[i].wide ? 8 : 4); /* the CIE's offset */
		cfi_put(&b, START, 8);
		cfi_put(&b, SIZE, 8);
		buf_put(&b, "\x41\x0e\x10", 3);
		eh = section(&b);
		eh.debug_frame = true;
		assert_int_equal(eh_frame_walk(&eh, keep, &seen, &seen.stats), 0);
		if (seen.len != (table[i].good ? 1 : 0) || seen.stats.fdes != 1)
			fail_msg("%s: %zu functions", table[i].what, seen.len);
		if (table[i].good) {
			assert_int_equal(seen.start[0], START);
			assert_int_equal(seen.rows_len[0], 2);
		}
	}
}

static void other_machines_are_refused(void **state)
{
	struct eh_frame eh = { .machine = EM_386 };
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(eh_frame_walk(&eh, keep, &seen, &seen.stats), -ENOTSUP);
}

static int check_shape(void *arg, const struct eh_frame_fde *fde)
{
	(void)arg;
	assert_true(fde->size > 0 && fde->rows_len > 0 && fde->rows[0].delta == 0);
	for (size_t i = 1; i < fde->rows_len; i++)
		assert_true(fde->rows[i].delta > fde->rows[i - 1].delta);
	assert_true(fde->rows[fde->rows_len - 1].delta < fde->size);
	return 0;
}

/* Under the sanitizers, that nothing is read outside; without them, that the promises hold. */
static void spoilt_and_cut_sections_keep_the_promises(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct eh_frame_stats stats = { 0 };
	size_t cie;

	(void)state;
	cie = cfi_cie_usual(&b);
	cfi_fde(&b, cie, START, SIZE,
		CFI("\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x50\x0c\x07\x08\x41\x0b"));
	cfi_fde(&b, cie, START, SIZE, CFI("\x0f\x05\x77\x18\x06\x23\x08\x41\x10\x06\x02\x76\0"));
	cfi_fde(&b, cfi_cie(&b, "zPLR", CFI("\x9b\1\2\3\4\x1b\x1b"), 16, CFI_X86_64), START, SIZE,
		CFI("\x02\x20\x0e\x10\x01\x11\x22\x33\x44"));
	srand(1);
	for (int i = 0; i < 100000; i++) {
		_cleanup_(freep) char *copy = malloc(b.len);
		size_t len = i % 4 ? b.len : (size_t)rand() % b.len;
		struct eh_frame eh = section(&b);

		assert_non_null(copy);
		memcpy(copy, b.data, b.len);
		for (int k = rand() % 4; k >= 0; k--)
			copy[(size_t)rand() % b.len] = (char)rand();
		/* At the end of the allocation, where a read too far is noticed. */
		memmove(copy + b.len - len, copy, len);
		eh.data = (struct bytes){ (uint8_t *)copy + b.len - len, len };
		eh.debug_frame = i % 8 == 7;
		eh_frame_walk(&eh, check_shape, NULL, &stats);
	}
	assert_true(stats.fdes > 0 && stats.fdes_bad > 0 && stats.fdes_bad < stats.fdes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cies_that_cannot_be_read_cost_their_functions),
		cmocka_unit_test(cies_that_evict_each_other_end_the_walk),
		cmocka_unit_test(spoilt_records_cost_their_functions),
		cmocka_unit_test(broken_chain_of_records_is_refused_after_what_came_before),
		cmocka_unit_test(record_of_no_length_ends_a_section_of_unknown_size_only),
		cmocka_unit_test(functions_without_bytes_are_counted_and_passed_over),
		cmocka_unit_test(each_pointer_encoding_leads_to_the_same_function),
		cmocka_unit_test(pointers_of_variable_length_are_read),
		cmocka_unit_test(augmentations_of_c_and_cxx_and_arm64_are_passed_over),
		cmocka_unit_test(lengths_of_64_bits_are_read),
		cmocka_unit_test(debug_frame_is_read_in_both_formats_and_all_versions),
		cmocka_unit_test(other_machines_are_refused),
		cmocka_unit_test(spoilt_and_cut_sections_keep_the_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
