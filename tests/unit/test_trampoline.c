/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's trampoline for perf, as x86-64 has it, at each of its instructions. */
#undef __TARGET_ARCH_arm64
#ifndef __aarch64__
#include "trampoline_walk.h"

/* endbr64; sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const u8 code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83,
	0xc4, 0x08, 0xc3 };

static const struct {
	const char *what;
	u32 offset, exact;
	u32 ra_at; /* word of the stack */
} places[] = {
	{ "before endbr64", 0, 1, 0 },
	{ "before sub", 4, 1, 0 },
	{ "before call", 8, 1, 1 },
	{ "returned to", 10, 0, 1 },
	{ "before add", 10, 1, 1 },
	{ "before ret", 14, 1, 0 },
};

static void each_instruction_of_the_trampoline_is_stepped_exactly(void **state)
{
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		walk_from(&s, code, sizeof(code), places[i].offset, places[i].exact);
		s.stack[places[i].ra_at] = CALLER;
		walk_frames(&s);
		assert_caller_is_found(&s, places[i].what);
		assert_int_equal(s.caller_sp, STACK + 8 * (places[i].ra_at + 1));
		assert_int_equal(s.caller_fp, BAD_FP);
	}
}

/* One byte of it is another one: nothing is known about such code. */
static void other_code_is_not_the_trampoline(void **state)
{
	static struct scratch s;

	(void)state;
	for (size_t spoilt = 4; spoilt < sizeof(code); spoilt++) {
		walk_from(&s, code, sizeof(code), 10, 0);
		s.text[spoilt] ^= 1;
		s.stack[1] = CALLER;
		walk_frames(&s);
		assert_int_equal(s.end, END_FP_CHAIN);
	}
}

static void a_stack_that_cannot_be_read_ends_the_walk(void **state)
{
	static struct scratch s;

	(void)state;
	walk_from(&s, code, sizeof(code), 10, 0);
	s.regs.sp = STACK + sizeof(s.stack);
	walk_frames(&s);
	assert_int_equal(s.end, END_FP_CHAIN);
	assert_int_equal(s.user.head.frames_len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_the_trampoline_is_stepped_exactly),
		cmocka_unit_test(other_code_is_not_the_trampoline),
		cmocka_unit_test(a_stack_that_cannot_be_read_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 0;
}
#endif
