/* SPDX-License-Identifier: Apache-2.0 */
/* Steps out of code without a rule as arm64 takes them, on any host (bpf/uncovered_arm64.bpf.h): by
 * the link register where the code has no frame, else by the frame pointer. */
#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_arm64
#endif
#include "trampoline_walk.h"

#define SIGNED(address) ((address) | 0x3f2d000000000000ULL)
#define AFTER_CALL 60 /* offset in the code */
#define LINK (CODE + AFTER_CALL)
#define RECORD 10 /* a word of the stack */
#define SAVED_FP 0x2222ULL

/* adrp x16, ..; ldr x17, [x16, ..]; add x16, x16, ..; br x17 */
static const u32 plt[] = { 0xb0000010, 0xf9400211, 0x91000210, INSN_BR_X17 };
/* ldr x2, [x1], #8; str x2, [x0], #8; subs x3, x3, #1; b.ne */
static const u32 leaf[] = { 0xf8408422, 0xf8008402, 0xf1000463, 0x54ffffa1 };
static const u32 call = 0x94000010; /* bl */

enum where { OTHER, VDSO_CALLED, VDSO_CALLS };

static const struct {
	const char *what;
	const u32 *code;
	u32 covered, exact;
	enum where where;
	u64 link, record; /* return addresses */
	u64 pc, how;
	bool by_record;
} cases[] = {
	{ "an entry of a PLT", plt, 1, 1, OTHER, LINK, CALLER, LINK, 0, false },
	{ "a routine in assembly", leaf, 1, 1, OTHER, LINK, CALLER, LINK, FRAME_BY_CHAIN, false },
	{ "one that made a frame", leaf, 1, 1, OTHER, LINK, SIGNED(LINK), LINK, FRAME_BY_CHAIN,
		true },
	{ "one that uses the link register", leaf, 1, 1, OTHER, CODE + 8, LINK, LINK,
		FRAME_BY_CHAIN, true },
	{ "a file without rules", leaf, 0, 1, OTHER, LINK - 4, LINK, LINK, FRAME_BY_CHAIN, true },
	{ "a routine that was returned to", leaf, 1, 0, OTHER, 0x3333, LINK, LINK, FRAME_BY_CHAIN,
		true },
	{ "a function of the vDSO", leaf, 0, 1, VDSO_CALLED, SIGNED(LINK), CALLER, LINK, 0,
		false },
	{ "one whose caller's code cannot be read", leaf, 0, 1, VDSO_CALLED, CALLER, LINK, CALLER,
		0, false },
	{ "one that has called another", leaf, 0, 1, VDSO_CALLS, LINK - 4, LINK, LINK,
		FRAME_BY_CHAIN, true },
};

static void check(size_t i)
{
	static struct scratch s;

	walk_from(&s, cases[i].code, sizeof(plt), 0, cases[i].exact);
	memcpy(s.text + AFTER_CALL - 4, &call, sizeof(call));
	memcpy(s.text + AFTER_CALL - 8, &call, sizeof(call));
	s.at.kind = FRAME_FILE;
	s.at.object = cases[i].where == OTHER ? OBJECT_FIRST : OBJECT_VDSO;
	s.at.start = cases[i].where == VDSO_CALLED ? CODE - (1 << 20) : CODE;
	s.regs.fp = STACK + 8 * RECORD;
	s.stack[RECORD] = SAVED_FP;
	s.stack[RECORD + 1] = cases[i].record;
	s.regs.gpr[ARCH_DWARF_LR] = cases[i].link;
	assert_int_equal(walk_step_without_rule(walk_of(&s), cases[i].covered), END_NONE);
	if (s.regs.pc != cases[i].pc || s.how != cases[i].how || s.regs.exact ||
		s.regs.sp != (cases[i].by_record ? STACK + 8 * (RECORD + 2) : STACK) ||
		s.regs.fp != (cases[i].by_record ? SAVED_FP : STACK + 8 * RECORD))
		fail_msg("%s: pc %#llx, sp %#llx, how %#llx", cases[i].what, s.regs.pc, s.regs.sp,
			s.how);
}

static void the_link_register_leads_on_where_there_is_no_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_link_register_leads_on_where_there_is_no_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
