/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame instructions and expressions: what each gives, what each malformed one costs. */
#include "unit.h"

#include <stdlib.h>

#include "cfi_walk.h"

struct program_row {
	const char *what;
	struct cfi_text program;
	size_t rows_len;
	struct cfi_row rows[ROWS_MAX];
};

static void check_programs(const struct program_row *table, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const struct program_row *t = &table[i];
		struct seen seen;

		walk_one(t->program, &seen);
		if (seen.len != 1 || seen.rows_len[0] != t->rows_len)
			fail_msg(
				"%s: %zu functions, %zu rows", t->what, seen.len, seen.rows_len[0]);
		for (size_t k = 0; k < t->rows_len; k++) {
			if (memcmp(&seen.rows[0][k], &t->rows[k], sizeof(t->rows[k])) != 0)
				fail_msg("%s: row %zu: +%u cfa %u %u%+d%+d ra %u%+d fp %u%+d",
					t->what, k, seen.rows[0][k].delta, seen.rows[0][k].rule.cfa,
					seen.rows[0][k].rule.cfa_reg, seen.rows[0][k].rule.cfa_off,
					seen.rows[0][k].rule.cfa_add, seen.rows[0][k].rule.ra,
					seen.rows[0][k].rule.ra_off, seen.rows[0][k].rule.fp,
					seen.rows[0][k].rule.fp_off);
		}
	}
}

static const struct program_row instructions[] = {
	{ "nothing", CFI_INIT(""), 1, { { 0, SP(8) } } },
	{ "advance_loc", CFI_INIT("\x41\x0e\x10"), 2, { { 0, SP(8) }, { 1, SP(16) } } },
	{ "advance_loc1", CFI_INIT("\x02\x30\x0e\x10"), 2, { { 0, SP(8) }, { 0x30, SP(16) } } },
	{ "advance_loc2", CFI_INIT("\x03\x30\0\x0e\x10"), 2, { { 0, SP(8) }, { 0x30, SP(16) } } },
	{ "advance_loc4", CFI_INIT("\x04\x30\0\0\0\x0e\x10"), 2,
		{ { 0, SP(8) }, { 0x30, SP(16) } } },
	{ "advance by nothing", CFI_INIT("\x40\x0e\x10"), 1, { { 0, SP(16) } } },
	{ "advance to the end", CFI_INIT("\x02\x40\x0e\x10"), 1, { { 0, SP(8) } } },
	{ "a change that changes nothing", CFI_INIT("\x41\x0e\x08"), 1, { { 0, SP(8) } } },
	{ "another register", CFI_INIT("\x41\x83\x02"), 1, { { 0, SP(8) } } },
	{ "offset", CFI_INIT("\x86\x02"), 1, { { 0, SP_FP(8, -16) } } },
	{ "offset_extended", CFI_INIT("\x05\x06\x02"), 1, { { 0, SP_FP(8, -16) } } },
	{ "offset_extended_sf", CFI_INIT("\x11\x06\x7e"), 1, { { 0, SP_FP(8, 16) } } },
	{ "GNU_negative_offset_extended", CFI_INIT("\x2f\x06\x02"), 1, { { 0, SP_FP(8, 16) } } },
	{ "restore", CFI_INIT("\x86\x02\x41\xc6"), 2, { { 0, SP_FP(8, -16) }, { 1, SP(8) } } },
	{ "restore_extended", CFI_INIT("\x86\x02\x41\x06\x06"), 2,
		{ { 0, SP_FP(8, -16) }, { 1, SP(8) } } },
	{ "same_value", CFI_INIT("\x86\x02\x41\x08\x06"), 2,
		{ { 0, SP_FP(8, -16) }, { 1, SP(8) } } },
	{ "undefined return address", CFI_INIT("\x07\x10"), 1,
		{ { 0, WITH(.ra = RA_UNDEFINED) } } },
	{ "undefined frame pointer", CFI_INIT("\x07\x06"), 1,
		{ { 0, WITH(.ra_off = -8, .fp = FP_LOST) } } },
	{ "return address in a register", CFI_INIT("\x09\x10\x05"), 1,
		{ { 0, WITH(.ra = RA_REG, .ra_off = 5) } } },
	{ "frame pointer in a register", CFI_INIT("\x09\x06\x05"), 1,
		{ { 0, WITH(.ra_off = -8, .fp = FP_REG, .fp_off = 5) } } },
	{ "frame pointer in itself", CFI_INIT("\x09\x06\x06"), 1, { { 0, SP(8) } } },
	{ "remember and restore", CFI_INIT("\x0a\x0e\x20\x86\x02\x44\x0b"), 2,
		{ { 0, SP_FP(32, -16) }, { 4, SP(8) } } },
	{ "def_cfa", CFI_INIT("\x0c\x06\x10"), 1, { { 0, REG(6, 16) } } },
	{ "def_cfa_register", CFI_INIT("\x0d\x06"), 1, { { 0, REG(6, 8) } } },
	{ "def_cfa_sf", CFI_INIT("\x12\x06\x7e"), 1, { { 0, REG(6, 16) } } },
	{ "def_cfa_offset_sf", CFI_INIT("\x13\x01"), 1, { { 0, SP(-8) } } },
	{ "def_cfa_expression", CFI_INIT("\x0f\x03\x76\x78\x06"), 1,
		{ { 0, { .cfa = CFA_DEREF, .cfa_reg = 6, .cfa_off = -8, .ra_off = -8 } } } },
	{ "an offset under an expression waits",
		CFI_INIT("\x0f\x03\x76\x78\x06\x0e\x20\x41\x0d\x07"), 2,
		{ { 0, { .cfa = CFA_DEREF, .cfa_reg = 6, .cfa_off = -8, .ra_off = -8 } },
			{ 1, SP(32) } } },
	{ "expression by the frame pointer", CFI_INIT("\x10\x06\x02\x76\0"), 1,
		{ { 0, WITH(.ra_off = -8, .fp = FP_AT_FP) } } },
	{ "expression by the stack pointer", CFI_INIT("\x0c\x06\x10\x10\x06\x02\x77\x08"), 1,
		{ { 0,
			{ .cfa = CFA_REG,
				.cfa_reg = 6,
				.cfa_off = 16,
				.ra_off = -8,
				.fp = FP_AT_SP,
				.fp_off = 8 } } } },
	{ "expression by the CFA's own register", CFI_INIT("\x10\x10\x02\x77\x18"), 1,
		{ { 0, WITH(.ra_off = 16) } } },
	{ "val_offset of the stack pointer", CFI_INIT("\x14\x07\0"), 1, { { 0, SP(8) } } },
	{ "val_offset_sf of the frame pointer", CFI_INIT("\x15\x06\x01"), 1,
		{ { 0, WITH(.ra_off = -8, .fp = FP_LOST) } } },
	{ "a stack pointer above the CFA", CFI_INIT("\x16\x07\x02\x77\x18"), 1,
		{ { 0, { .cfa = CFA_REG, .cfa_reg = 7, .cfa_off = 24, .ra_off = -24 } } } },
	{ "a stack pointer in memory", CFI_INIT("\x0e\x00\x10\x07\x02\x77\x20\x07\x10"), 1,
		{ { 0, { .cfa = CFA_DEREF, .cfa_reg = 7, .cfa_off = 32, .ra = RA_UNDEFINED } } } },
	{ "GNU_args_size", CFI_INIT("\x2e\x80\x01"), 1, { { 0, SP(8) } } },
	{ "set_loc", CFI_INIT("\x01\xdf\x3f\xf0\xff\x0e\x10"), 2, { { 0, SP(8) }, { 9, SP(16) } } },
};

static void each_instruction_gives_its_rows(void **state)
{
	(void)state;
	check_programs(instructions, ARRAY_SIZE(instructions));
}

static void rules_that_cannot_be_said_are_marked_and_counted(void **state)
{
	static const struct {
		const char *what;
		struct cfi_text program;
		struct unwind_rule rule;
		enum cfi_lost reason;
	} table[] = {
		{ "CFA of two registers", CFI_INIT("\x0f\x05\x77\0\x70\0\x22"), UNSUPPORTED,
			CFI_LOST_CFA_EXPRESSION },
		{ "CFA by a register beyond all", CFI_INIT("\x0c\xff\x01\x08"), UNSUPPORTED,
			CFI_LOST_CFA_EXPRESSION },
		{ "CFA far away", CFI_INIT("\x0e\x80\x80\x80\x80\x10"), UNSUPPORTED,
			CFI_LOST_CFA_FAR },
		{ "CFA by an expression, far away",
			CFI_INIT("\x0f\x08\x77\0\x23\x80\x80\x80\x80\x10"), UNSUPPORTED,
			CFI_LOST_CFA_FAR },
		{ "no CFA, but outermost", CFI_INIT("\x0f\x01\x96\x07\x10"),
			{ .cfa = CFA_UNSUPPORTED, .ra = RA_UNDEFINED, .fp = FP_LOST },
			CFI_LOST_CFA_EXPRESSION },
		{ "stack pointer undefined", CFI_INIT("\x07\x07"), UNSUPPORTED, CFI_LOST_SP_RULE },
		{ "return address by another register", CFI_INIT("\x10\x10\x02\x70\0"),
			WITH(.ra = RA_UNSUPPORTED), CFI_LOST_RA_RULE },
		{ "return address computed", CFI_INIT("\x14\x10\x01"), WITH(.ra = RA_UNSUPPORTED),
			CFI_LOST_RA_RULE },
		{ "return address of no rule", CFI_INIT("\x08\x10"), WITH(.ra = RA_UNSUPPORTED),
			CFI_LOST_RA_RULE },
		{ "return address far away", CFI_INIT("\x90\x81\x20"), WITH(.ra = RA_UNSUPPORTED),
			CFI_LOST_RA_FAR },
		{ "frame pointer by another register", CFI_INIT("\x10\x06\x02\x70\0"),
			WITH(.ra_off = -8, .fp = FP_LOST), CFI_LOST_FP_RULE },
		{ "frame pointer far away", CFI_INIT("\x86\x81\x20"),
			WITH(.ra_off = -8, .fp = FP_LOST), CFI_LOST_FP_FAR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct seen seen;

		walk_one(table[i].program, &seen);
		if (seen.len != 1 || seen.rows_len[0] != 1 ||
			memcmp(&seen.rows[0][0].rule, &table[i].rule, sizeof(table[i].rule)) != 0)
			fail_msg("%s: cfa %u ra %u fp %u", table[i].what, seen.rows[0][0].rule.cfa,
				seen.rows[0][0].rule.ra, seen.rows[0][0].rule.fp);
		if (seen.stats.lost[table[i].reason] != 1)
			fail_msg("%s: not counted", table[i].what);
	}
}

static void a_row_without_any_cfa_is_unsupported(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;

	(void)state;
	cfi_fde(&b, cfi_cie(&b, "zR", CFI("\x1b"), 16, CFI("")), START, SIZE, CFI(""));
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.rows[0][0].rule.cfa, CFA_UNSUPPORTED);
	assert_int_equal(seen.stats.lost[CFI_LOST_CFA_MISSING], 1);
}

static void malformed_programs_cost_their_function_alone(void **state)
{
	static const struct {
		const char *what;
		struct cfi_text program;
	} table[] = {
		{ "unknown instruction", CFI_INIT("\x3f") },
		{ "instruction of another machine", CFI_INIT("\x2d") },
		{ "LLVM address space", CFI_INIT("\x30\x07\x08\x01") },
		{ "restore_state of nothing", CFI_INIT("\x0b") },
		{ "operand that does not end", CFI_INIT("\x0e\xff\xff") },
		{ "operand beyond 64 bits",
			CFI_INIT("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f") },
		{ "expression longer than its program", CFI_INIT("\x0f\x7f\x77\x08") },
		{ "expression of absurd length",
			CFI_INIT("\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
		{ "offset that overflows when scaled",
			CFI_INIT("\x86\xff\xff\xff\xff\xff\xff\xff\xff\x7f") },
		{ "negative offset beyond 63 bits",
			CFI_INIT("\x2f\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
		{ "location that wraps", CFI_INIT("\x1d\xff\xff\xff\xff\xff\xff\xff\xff\x41") },
		{ "set_loc before the start", CFI_INIT("\x01\xd6\x2f\xf0\xff") },
		{ "set_loc backwards", CFI_INIT("\x48\x01\xd8\x3f\xf0\xff") },
		{ "restore_state once too often", CFI_INIT("\x0a\x0b\x0b") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		size_t cie = cfi_cie_usual(&b);
		struct seen seen;

		cfi_fde(&b, cie, START, SIZE, table[i].program);
		cfi_fde(&b, cie, START + SIZE, SIZE, CFI(""));
		assert_int_equal(walk(&b, &seen), 0);
		if (seen.len != 1 || seen.start[0] != START + SIZE || seen.stats.fdes_bad != 1)
			fail_msg("%s: %zu functions, %u bad", table[i].what, seen.len,
				seen.stats.fdes_bad);
		assert_int_equal(seen.stats.fdes, 2);
	}
}

static void states_nest_to_a_limit_and_no_deeper(void **state)
{
	char program[2 * (CFI_STATES_MAX + 1)];
	struct seen seen;

	(void)state;
	memset(program, DW_CFA_remember_state, CFI_STATES_MAX);
	memset(program + CFI_STATES_MAX, DW_CFA_restore_state, CFI_STATES_MAX);
	walk_one((struct cfi_text){ program, 2 * CFI_STATES_MAX }, &seen);
	assert_int_equal(seen.len, 1);
	memset(program, DW_CFA_remember_state, CFI_STATES_MAX + 1);
	walk_one((struct cfi_text){ program, CFI_STATES_MAX + 1 }, &seen);
	assert_int_equal(seen.stats.fdes_bad, 1);
}

static void signal_mark_counts_where_the_rules_are_those_of_a_signal_frame(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct seen seen;
	size_t cie;

	(void)state;
	cie = cfi_cie(&b, "zRS", CFI("\x1b"), 16, CFI_X86_64);
	/* CFA and rsp at rsp + 160, rip at + 168, rbp at + 120. */
	cfi_fde(&b, cie, START, SIZE,
		CFI("\x0f\x04\x77\xa0\x01\x06\x10\x07\x03\x77\xa0\x01\x10\x10\x03\x77\xa8\x01\x10"
		    "\x06\x03"
		    "\x77\xf8\0"));
	cfi_fde(&b, cie, START, SIZE, CFI("\x0e\x20"));
	assert_int_equal(walk(&b, &seen), 0);
	assert_int_equal(seen.len, 2);
	assert_memory_equal(&seen.rows[0][0].rule, &(struct unwind_rule){ .cfa = CFA_SIGNAL },
		sizeof(struct unwind_rule));
	assert_memory_equal(
		&seen.rows[1][0].rule, &(struct unwind_rule)SP(32), sizeof(struct unwind_rule));
}

static void arm64_keeps_the_return_address_in_its_register_until_it_is_saved(void **state)
{
	static const struct cfi_row want[] = {
		{ 0, { .cfa = CFA_REG, .cfa_reg = 31, .ra = RA_REG, .ra_off = 30 } },
		{ 4,
			{ .cfa = CFA_REG,
				.cfa_reg = 29,
				.cfa_off = 32,
				.ra_off = -24,
				.fp = FP_AT_CFA,
				.fp_off = -32 } },
		{ 8, { .cfa = CFA_REG, .cfa_reg = 31, .ra = RA_UNDEFINED } },
	};
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct eh_frame eh;
	struct seen seen = { 0 };

	(void)state;
	/* Signing, a frame record, back to the start, and no caller. */
	cfi_fde(&b, cfi_cie(&b, "zRB", CFI("\x1b"), 30, CFI_ARM64), START, SIZE,
		CFI("\x2d\x44\x0a\x0c\x1d\x20\x9e\x03\x9d\x04\x44\x0b\x2d\x07\x1e"));
	eh = section(&b);
	eh.machine = EM_AARCH64;
	assert_int_equal(eh_frame_walk(&eh, keep, &seen, &seen.stats), 0);
	assert_int_equal(seen.len, 1);
	assert_int_equal(seen.rows_len[0], ARRAY_SIZE(want));
	assert_memory_equal(seen.rows[0], want, sizeof(want));
}

static void expressions_of_the_known_shapes_are_followed(void **state)
{
	static const struct {
		const char *what;
		struct cfi_text expr;
		struct cfi_value want;
	} table[] = {
		{ "lazy PLT entry", CFI_INIT("\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"),
			{ .kind = CFI_VALUE_PLT, .off = 11 } },
		{ "PLT entry with a prefix", CFI_INIT("\x77\x08\x80\0\x3f\x1a\x3a\x2a\x33\x24\x22"),
			{ .kind = CFI_VALUE_PLT, .off = 10 } },
		{ "register", CFI_INIT("\x77\x10"), { CFI_VALUE_ADDR, 7, 16, 0 } },
		{ "register, plus_uconst", CFI_INIT("\x77\x10\x23\x08"),
			{ CFI_VALUE_ADDR, 7, 24, 0 } },
		{ "bregx", CFI_INIT("\x92\x21\x7f"), { CFI_VALUE_ADDR, 33, -1, 0 } },
		{ "deref", CFI_INIT("\x76\x78\x06"), { CFI_VALUE_DEREF, 6, -8, 0 } },
		{ "deref, plus_uconst", CFI_INIT("\x77\x18\x06\x23\x08"),
			{ CFI_VALUE_DEREF, 7, 24, 8 } },
		{ "deref, lit8, minus", CFI_INIT("\x77\x18\x06\x38\x1c"),
			{ CFI_VALUE_DEREF, 7, 24, -8 } },
		{ "constant, register, plus", CFI_INIT("\x0a\0\x10\x77\0\x22"),
			{ CFI_VALUE_ADDR, 7, 0x1000, 0 } },
		{ "const1s", CFI_INIT("\x77\0\x09\xf0\x22"), { CFI_VALUE_ADDR, 7, -16, 0 } },
		{ "swap, drop, dup, nop", CFI_INIT("\x77\0\x31\x16\x16\x13\x12\x13\x96"),
			{ CFI_VALUE_ADDR, 7, 0, 0 } },
		{ "stack pointer, eight times a register", CFI_INIT("\x77\x10\x79\0\x38\x1e\x22"),
			{ CFI_VALUE_ADDR, RULE_REG_INDEXED | 9, 16, 0 } },
		{ "eight times a register, stack pointer, deref",
			CFI_INIT("\x79\0\x38\x1e\x77\x08\x22\x06\x23\x08"),
			{ CFI_VALUE_DEREF, RULE_REG_INDEXED | 9, 8, 8 } },
		{ "frame pointer, eight times a register", CFI_INIT("\x76\x10\x79\0\x38\x1e\x22"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "four times a register", CFI_INIT("\x77\x10\x79\0\x34\x1e\x22"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "eight times a register that there is not",
			CFI_INIT("\x77\x10\x92\xff\0\0\x38\x1e\x22"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "deref of a deref", CFI_INIT("\x77\0\x06\x06"), { .kind = CFI_VALUE_UNKNOWN } },
		{ "deref of a constant", CFI_INIT("\x38\x06"), { .kind = CFI_VALUE_UNKNOWN } },
		{ "a constant", CFI_INIT("\x38"), { .kind = CFI_VALUE_UNKNOWN } },
		{ "empty", CFI_INIT(""), { .kind = CFI_VALUE_UNKNOWN } },
		{ "cut off", CFI_INIT("\x77"), { .kind = CFI_VALUE_UNKNOWN } },
		{ "pop of nothing", CFI_INIT("\x22"), { .kind = CFI_VALUE_UNKNOWN } },
		{ "more than fits", CFI_INIT("\x31\x31\x31\x31\x31\x31\x31\x31\x77\0"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "overflow", CFI_INIT("\x77\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x22"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "the CFA's own number", CFI_INIT("\x92\xff\x01\0"),
			{ .kind = CFI_VALUE_UNKNOWN } },
		{ "beyond 32 bits", CFI_INIT("\x77\0\x0c\xff\xff\xff\xff\x22"),
			{ .kind = CFI_VALUE_FAR } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct bytes expr = { (const uint8_t *)table[i].expr.bytes, table[i].expr.len };
		struct cfi_value got = cfi_expr_eval(expr, false);

		if (got.kind != table[i].want.kind || got.reg != table[i].want.reg ||
			got.off != table[i].want.off || got.add != table[i].want.add)
			fail_msg("%s: kind %u reg %u off %d add %d", table[i].what, got.kind,
				got.reg, got.off, got.add);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_gives_its_rows),
		cmocka_unit_test(rules_that_cannot_be_said_are_marked_and_counted),
		cmocka_unit_test(a_row_without_any_cfa_is_unsupported),
		cmocka_unit_test(malformed_programs_cost_their_function_alone),
		cmocka_unit_test(states_nest_to_a_limit_and_no_deeper),
		cmocka_unit_test(signal_mark_counts_where_the_rules_are_those_of_a_signal_frame),
		cmocka_unit_test(arm64_keeps_the_return_address_in_its_register_until_it_is_saved),
		cmocka_unit_test(expressions_of_the_known_shapes_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
