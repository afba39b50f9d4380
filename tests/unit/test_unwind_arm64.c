/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of bpf/unwind.bpf.h as arm64 takes them, on any host: link register, signed return
 * addresses, signal frames. */
#include "unit.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"

#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_arm64
#endif
#include "bpf/unwind.bpf.h"

#define BASE 0xffffd1230000ULL
#define WORDS 160
#define AT(i) (BASE + 8ULL * (i))
#define CODE 0xaaaad0001234ULL
/* As `paciasp` leaves it: 55 selects the half, so the code is in the others above the address. */
#define SIGNED(address) ((address) | 0x3f2d000000000000ULL)
#define FP AT(20)

enum { X9 = 9, X19 = 19, X29 = 29, LR = 30, SP = 31 };

struct memory {
	uint64_t words[WORDS];
};

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	const struct memory *m = memory;

	if (addr < BASE || addr - BASE > sizeof(m->words) ||
		size > sizeof(m->words) - (addr - BASE))
		return -1;
	memcpy(dst, (const uint8_t *)m->words + (addr - BASE), size);
	return 0;
}

struct step_case {
	const char *what;
	struct unwind_rule rule;
	uint32_t exact, end;
	uint64_t next_pc, next_sp, next_fp;
};

/* [FP] is the caller's frame pointer, [FP + 8] its signed return address; AT(4) and AT(5) too. */
static const struct step_case step_cases[] = {
	{ "a leaf, its return address in the link register",
		{ .cfa = CFA_REG, .cfa_reg = SP, .ra = RA_REG, .ra_off = LR }, 1, END_NONE,
		CODE + 8, AT(0), FP },
	{ "the link register of a function that called",
		{ .cfa = CFA_REG, .cfa_reg = SP, .cfa_off = 16, .ra = RA_REG, .ra_off = LR }, 0,
		END_REGISTER, 0, 0, 0 },
	{ "a frame record by the stack pointer",
		{ .cfa = CFA_REG,
			.cfa_reg = SP,
			.cfa_off = 48,
			.ra_off = -8,
			.fp = FP_AT_CFA,
			.fp_off = -16 },
		0, END_NONE, CODE, AT(6), AT(60) },
	{ "a frame record by the frame pointer",
		{ .cfa = CFA_REG,
			.cfa_reg = X29,
			.cfa_off = 16,
			.ra_off = -8,
			.fp = FP_AT_CFA,
			.fp_off = -16 },
		0, END_NONE, CODE + 4, AT(22), AT(40) },
	{ "a register that calls may change, called",
		{ .cfa = CFA_REG, .cfa_reg = X9, .ra_off = -8 }, 0, END_NONE, CODE, AT(6), FP },
	{ "a register that is saved, called", { .cfa = CFA_REG, .cfa_reg = X19, .ra_off = -8 }, 0,
		END_REGISTER, 0, 0, 0 },
	{ "outermost", { .cfa = CFA_REG, .cfa_reg = SP, .ra = RA_UNDEFINED }, 0, END_ROOT, 0, 0,
		0 },
};

static void memory_init(struct memory *m)
{
	memset(m, 0, sizeof(*m));
	m->words[4] = AT(60);
	m->words[5] = SIGNED(CODE);
	m->words[20] = AT(40);
	m->words[21] = SIGNED(CODE + 4);
}

static struct unwind_regs regs_of(uint32_t exact)
{
	struct unwind_regs regs = { .pc = CODE - 64, .sp = AT(0), .fp = FP, .exact = exact };

	regs.gpr[X9] = AT(6);
	regs.gpr[LR] = SIGNED(CODE + 8);
	return regs;
}

static void each_rule_steps_to_an_address_without_its_signature(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(step_cases); i++) {
		const struct step_case *c = &step_cases[i];
		struct unwind_regs regs = regs_of(c->exact);
		struct memory memory;
		struct unwind_window window = { .memory = &memory };
		u32 end;

		memory_init(&memory);
		end = unwind_rule_step(&regs, &window, &c->rule);
		if (end != c->end)
			fail_msg("%s: end %u, not %u", c->what, end, c->end);
		if (end != END_NONE)
			continue;
		if (regs.pc != c->next_pc || regs.sp != c->next_sp || regs.fp != c->next_fp)
			fail_msg("%s: pc %#" PRIx64 " sp %#" PRIx64 " fp %#" PRIx64, c->what,
				(uint64_t)regs.pc, (uint64_t)regs.sp, (uint64_t)regs.fp);
		assert_int_equal(regs.exact, 0);
	}
}

static void a_chain_of_frame_records_is_followed_to_its_zero_which_is_no_root(void **state)
{
	struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(1);

	(void)state;
	memory_init(&memory);
	memory.words[40] = 0;
	memory.words[41] = SIGNED(CODE + 12);
	assert_int_equal(unwind_fp_step(&regs, &window), END_NONE);
	assert_int_equal(regs.pc, CODE + 4);
	assert_int_equal(regs.sp, AT(22));
	assert_int_equal(unwind_fp_step(&regs, &window), END_NONE);
	assert_int_equal(regs.pc, CODE + 12);
	assert_int_equal(unwind_fp_step(&regs, &window), END_FP_CHAIN);
}

static void a_signed_zero_ends_the_chain_too(void **state)
{
	struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(0);

	(void)state;
	memory_init(&memory);
	memory.words[21] = SIGNED(0);
	assert_int_equal(unwind_fp_step(&regs, &window), END_FP_CHAIN);
}

/* asm/sigcontext.h: x0 to x30, sp and pc from 312 bytes above the handler's sp. */
static void a_signal_frame_gives_all_registers_back(void **state)
{
	static const struct unwind_rule rule = { .cfa = CFA_SIGNAL };
	struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(0);

	(void)state;
	memory_init(&memory);
	for (uint64_t i = 0; i < 31; i++)
		memory.words[312 / 8 + i] = 0x1000 + i;
	memory.words[312 / 8 + 31] = AT(70);
	memory.words[312 / 8 + 32] = CODE + 100;
	assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_NONE);
	for (uint64_t i = 0; i < 31; i++)
		assert_int_equal(regs.gpr[i], 0x1000 + i);
	assert_int_equal(regs.pc, CODE + 100);
	assert_int_equal(regs.sp, AT(70));
	assert_int_equal(regs.fp, 0x1000 + X29);
	assert_int_equal(regs.exact, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_steps_to_an_address_without_its_signature),
		cmocka_unit_test(a_chain_of_frame_records_is_followed_to_its_zero_which_is_no_root),
		cmocka_unit_test(a_signed_zero_ends_the_chain_too),
		cmocka_unit_test(a_signal_frame_gives_all_registers_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
