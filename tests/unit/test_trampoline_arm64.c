/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's trampoline for perf, as arm64 has it, at each of its instructions, on any host. */
#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_arm64
#endif
#include "trampoline_walk.h"

#define SAVED_FP 0x2222ULL
#define SIGNED(address) ((address) | 0x3f2d000000000000ULL)

enum { STP, MOV, BLR, LDP, LAST };

static const u32 plain[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0060, 0xa8c17bfd, 0xd65f03c0 };
/* paciasp before it, autiasp before ret */
static const u32 with_pac[] = { 0xd503233f, 0xa9bf7bfd, 0x910003fd, 0xd63f0060, 0xa8c17bfd,
	0xd50323bf, 0xd65f03c0 };

static void check(const u32 *code, u32 len, u32 first, u32 at, u32 exact)
{
	static struct scratch s;
	bool framed = at > first && at < first + LAST;

	walk_from(&s, code, len * sizeof(*code), at * 4, exact);
	if (framed) {
		s.stack[0] = SAVED_FP;
		s.stack[1] = SIGNED(CALLER);
		s.regs.gpr[ARCH_DWARF_LR] = 0x3333;
	} else {
		s.regs.gpr[ARCH_DWARF_LR] = SIGNED(CALLER);
	}
	walk_frames(&s);
	assert_caller_is_found(&s, framed ? "framed" : "frameless");
	assert_int_equal(s.caller_sp, STACK + (framed ? 16 : 0));
	assert_int_equal(s.caller_fp, framed ? SAVED_FP : BAD_FP);
}

static void each_instruction_of_the_trampoline_is_stepped_exactly(void **state)
{
	(void)state;
	for (u32 at = 0; at < ARRAY_SIZE(plain); at++)
		check(plain, ARRAY_SIZE(plain), 0, at, 1);
	for (u32 at = 0; at < ARRAY_SIZE(with_pac); at++)
		check(with_pac, ARRAY_SIZE(with_pac), 1, at, 1);
	check(plain, ARRAY_SIZE(plain), 0, LDP, 0);
	check(with_pac, ARRAY_SIZE(with_pac), 1, 1 + LDP, 0);
}

static void other_code_is_not_the_trampoline(void **state)
{
	static struct scratch s;

	(void)state;
	for (u32 spoilt = 0; spoilt <= LDP; spoilt++) {
		walk_from(&s, plain, sizeof(plain), LDP * 4, 0);
		s.text[spoilt * 4 + 1] ^= 1;
		s.stack[1] = CALLER;
		walk_frames(&s);
		assert_int_equal(s.end, END_FP_CHAIN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_the_trampoline_is_stepped_exactly),
		cmocka_unit_test(other_code_is_not_the_trampoline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
