/* SPDX-License-Identifier: Apache-2.0 */
/* A walk that has taken too long: it ends at a frame that was found and not left. The stacks are
 * chains of generated code on x86-64, stepped by its bytes or by frame pointer. */
#undef __TARGET_ARCH_arm64
#ifndef __aarch64__
#include "trampoline_walk.h"

/* CPython's trampoline: sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const u8 trampoline[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
static const u8 other[] = { 0x90 };
#define RETURNED_TO 6

static const struct {
	const char *what;
	const u8 *code;
	size_t code_len;
	bool late;
	u32 end, frames_len;
} rows[] = {
	{ "known code in time", trampoline, sizeof(trampoline), false, END_FP_CHAIN,
		STACK_WORDS / 2 + 1 },
	{ "known code", trampoline, sizeof(trampoline), true, END_TIME, WALK_TURN + 1 },
	{ "other code in time", other, sizeof(other), false, END_STACK_READ, STACK_WORDS / 2 + 1 },
	{ "other code", other, sizeof(other), true, END_TIME, WALK_UNRULED + 1 },
};

static void a_late_walk_ends_before_the_next_step(void **state)
{
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		walk_from(&s, rows[i].code, rows[i].code_len, RETURNED_TO, 0);
		s.regs.fp = STACK;
		for (u32 word = 0; word < STACK_WORDS; word += 2) {
			s.stack[word] = STACK + 8 * (word + 2);
			s.stack[word + 1] = CODE + RETURNED_TO;
		}
		s.too_late = rows[i].late;
		walk_frames(&s);
		if (s.end != rows[i].end || s.user.head.frames_len != rows[i].frames_len ||
			s.regs.sp != STACK + 16 * (rows[i].frames_len - 1))
			fail_msg("%s: end %u after %u frames", rows[i].what, s.end,
				s.user.head.frames_len);
	}
}

/* The kernel half took all the time. */
static void a_walk_that_begins_late_has_its_leaf(void **state)
{
	static struct scratch s;

	(void)state;
	walk_from(&s, trampoline, sizeof(trampoline), RETURNED_TO, 0);
	s.stack[1] = CALLER;
	walk_frames(&s);
	assert_caller_is_found(&s, "in time");
	walk_from(&s, trampoline, sizeof(trampoline), RETURNED_TO, 0);
	s.stack[1] = CALLER;
	s.late = 1;
	walk_frames(&s);
	assert_int_equal(s.end, END_TIME);
	assert_int_equal(s.user.head.frames_len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_walk_ends_before_the_next_step),
		cmocka_unit_test(a_walk_that_begins_late_has_its_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 0;
}
#endif
