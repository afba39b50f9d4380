/* SPDX-License-Identifier: Apache-2.0 */
/* test_hotspot_walk_arm64.c - one step out of code of HotSpot's, at each instruction of its forms,
 * as arm64 has them, on any host. */
#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_arm64
#endif
#include "make_hotspot.h"

#define CALLER (MEMORY + CALLER_AT)
#define SIGNED(address) ((address) | 0x3f2d000000000000ULL)
#define LR ARCH_DWARF_LR
#define INSN_NOP 0xd503201f
#define INTERPRETER_CODE 128 /* offset in the code: nothing of the blob's begin is near */

static void make_insns(const char *name, s32 frame_words, u32 complete, const u32 *code, u32 bytes)
{
	make(name, frame_words, complete, (const u8 *)code, bytes);
	scratch.regs.gpr[LR] = 0x3333;
}

static void assert_stepped(const char *what, u32 at, u32 sp_word, u64 fp)
{
	if (scratch.regs.pc != CALLER || scratch.regs.fp != fp ||
		scratch.regs.sp != STACK + 8 * sp_word || scratch.regs.exact)
		fail_msg("%s, instruction %u: pc %#llx, word %lld, fp %#llx", what, at,
			scratch.regs.pc, (long long)(scratch.regs.sp - STACK) / 8, scratch.regs.fp);
}

/* ---- compiled code --------------------------------------------------------------------------- */

/* sub x9, sp, #0x14000; str xzr, [x9]; sub sp, sp, #0x20; stp fp, lr, [sp, #16]; nop; bl; nop;
 * ldp fp, lr, [sp, #16]; add sp, sp, #0x20; ldr x8, [x28, #848]; cmp sp, x8; b.hi; ret; nop */
static const u32 small[] = { 0xd14053e9, 0xf900013f, 0xd10083ff, 0xa9017bfd, INSN_NOP, 0x94000010,
	INSN_NOP, 0xa9417bfd, 0x910083ff, 0xf941ab88, 0xeb2863ff, 0x54000068, INSN_RET, INSN_NOP };
/* nop; stp fp, lr, [sp, #-16]!; sub sp, sp, #0x10; nop; add sp, sp, #0x10; ldp fp, lr, [sp], #16;
 * ret; nop */
static const u32 large[] = { INSN_NOP, INSN_PUSH_RECORD, 0xd10043ff, INSN_NOP, 0x910043ff,
	INSN_POP_RECORD, INSN_RET, INSN_NOP };
/* nop; stp fp, lr, [sp, #-16]!; sub sp, sp, x8; nop; add sp, sp, x8; ldp fp, lr, [sp], #16; ret */
static const u32 huge[] = { INSN_NOP, INSN_PUSH_RECORD, 0xcb2863ff, INSN_NOP, 0x8b2863ff,
	INSN_POP_RECORD, INSN_RET };
/* stp fp, lr, [sp, #-16]!; mov fp, sp; sub sp, sp, #0x10; nop; mov sp, fp; ldp fp, lr, [sp], #16;
 * ret */
static const u32 native[] = { INSN_PUSH_RECORD, 0x910003fd, 0xd10043ff, INSN_NOP, 0x910003bf,
	INSN_POP_RECORD, INSN_RET };

#define NOWHERE (~0U)

/* From the first instruction of each row on, up to the next row's: the word of the stack with the
 * caller's frame pointer, and the caller's stack pointer. */
static const struct {
	const char *what;
	const u32 *code;
	u32 len, first, record, sp;
} places[] = {
	{ "small", small, 14, 0, NOWHERE, 0 },
	{ "small, with room", small, 14, 3, NOWHERE, 4 },
	{ "small, whole", small, 14, 4, 2, 4 },
	{ "small, restored", small, 14, 8, NOWHERE, 4 },
	{ "small, taken down", small, 14, 9, NOWHERE, 0 },
	{ "small, after its end", small, 14, 13, 2, 4 },
	{ "large", large, 8, 0, NOWHERE, 0 },
	{ "large, its record alone", large, 8, 2, 0, 2 },
	{ "large, whole", large, 8, 3, 2, 4 },
	{ "large, without room", large, 8, 5, 0, 2 },
	{ "large, taken down", large, 8, 6, NOWHERE, 0 },
	{ "large, after its end", large, 8, 7, 2, 4 },
	{ "huge", huge, 7, 0, NOWHERE, 0 },
	{ "huge, its record alone", huge, 7, 2, 0, 2 },
	{ "huge, whole", huge, 7, 3, 2, 4 },
	{ "huge, without room", huge, 7, 5, 0, 2 },
	{ "huge, taken down", huge, 7, 6, NOWHERE, 0 },
	{ "native", native, 7, 0, NOWHERE, 0 },
	{ "native, its record alone", native, 7, 1, 0, 2 },
	{ "native, whole", native, 7, 3, 2, 4 },
	{ "native, without room", native, 7, 5, 0, 2 },
	{ "native, taken down", native, 7, 6, NOWHERE, 0 },
};

static void check_place(size_t row, u32 at, u32 exact)
{
	const bool live = places[row].record == NOWHERE;

	make_insns("nmethod", 4, 16, places[row].code, 4 * places[row].len);
	scratch.regs.exact = exact;
	scratch.regs.gpr[LR] = live ? SIGNED(CALLER) : MEMORY + 64;
	if (!live) {
		put_word(places[row].record, SAVED_FP);
		put_word(places[row].record + 1, SIGNED(CALLER));
	}
	assert_int_equal(step(4 * at), END_NONE);
	assert_stepped(places[row].what, at, places[row].sp, live ? OWN_FP : SAVED_FP);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 4 * at - !exact));
}

static void each_instruction_of_compiled_code_is_stepped_exactly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const bool last = i + 1 == ARRAY_SIZE(places) ||
			places[i + 1].code != places[i].code;

		for (u32 at = places[i].first; at < (last ? places[i].len : places[i + 1].first);
			at++)
			check_place(i, at, 1);
	}
	check_place(2, 6, 0); /* returned to */
}

/* ---- interpreted code ------------------------------------------------------------------------ */

/* stp fp, lr, [sp, #80]; add fp, sp, #80; stp xzr, x13, [sp, #64], or x19 from 21 on; nop */
static const u32 entry[] = { 0xa9057bfd, INSN_INTERPRETER_FP, INSN_SAVE_SENDER, INSN_NOP };
static const u32 entry_21[] = { 0xa9057bfd, INSN_INTERPRETER_FP, INSN_SAVE_SENDER_21, INSN_NOP };
/* mov sp, fp; ldp fp, lr, [sp], #16; and sp, x20, #~15; ret; nop */
static const u32 leaving[] = { 0x910003bf, INSN_POP_RECORD, 0x927cee9f, INSN_RET, INSN_NOP };

static void make_interpreter(const u32 *code, u32 bytes)
{
	make_insns("Interpreter", 0, 0, entry, 0);
	if (code)
		memcpy(scratch.memory + CODE_AT + INTERPRETER_CODE, code, bytes);
	scratch.regs.fp = STACK + 8 * 20;
	put_word(20 - 3, MEMORY + METHOD_AT);
	put_word(20 - 9, MEMORY + CONST_AT + 64 + 7); /* bytecode */
	put_word(20 - 1, STACK + 8 * 26);	      /* the caller's stack pointer */
	put_word(20, SAVED_FP);
	put_word(21, SIGNED(CALLER));
	scratch.regs.gpr[ARCH_REG_BYTECODE] = MEMORY + CONST_AT + 64 + 9;
}

static void a_frame_of_the_interpreter_says_its_place_and_its_caller(void **state)
{
	(void)state;
	make_interpreter(NULL, 0);
	assert_int_equal(step(INTERPRETER_CODE), END_NONE);
	assert_stepped("interrupted", 0, 26, SAVED_FP);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 9));
	make_interpreter(NULL, 0);
	scratch.regs.exact = 0;
	assert_int_equal(step(INTERPRETER_CODE), END_NONE);
	assert_stepped("returned to", 0, 26, SAVED_FP);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 7));
	make_interpreter(NULL, 0);
	hotspot.process.bytecode = 1; /* version 8 */
	put_word(20 - 7, MEMORY + CONST_AT + 64 + 5);
	scratch.regs.exact = 0;
	assert_int_equal(step(INTERPRETER_CODE), END_NONE);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 5));
}

static void check_entry(const u32 *code, u32 version, u32 sender, u32 at)
{
	make_interpreter(code, sizeof(entry));
	hotspot.process.version = (u8)version;
	scratch.regs.gpr[LR] = at < 2 ? SIGNED(CALLER) : MEMORY + 64;
	scratch.regs.gpr[sender] = STACK + 8 * 6 + 8; /* of a stack that is not aligned */
	if (at < 3)
		put_word(20 - 1, 0x5000);
	if (at == 2)
		scratch.regs.gpr[sender] = STACK + 8 * 26;
	assert_int_equal(step(INTERPRETER_CODE + 4 * at), END_NONE);
	assert_stepped(version == 21 ? "entry of 21" : "entry", at, at < 2 ? 6 : 26,
		at < 2 ? STACK + 8 * 20 : SAVED_FP);
	assert_true(at < 2 || scratch.code == frame_code(OBJECT_FIRST, 9));
}

static void it_has_no_frame_where_it_enters_and_leaves_a_method(void **state)
{
	(void)state;
	for (u32 at = 0; at < ARRAY_SIZE(entry); at++) {
		check_entry(entry, 17, 13, at);
		check_entry(entry_21, 21, 19, at);
	}
	for (u32 at = 0; at < ARRAY_SIZE(leaving); at++) {
		const bool gone = at == 2 || at == 3;

		make_interpreter(leaving, sizeof(leaving));
		if (at == 1)
			scratch.regs.sp = scratch.regs.fp;
		if (gone) {
			scratch.regs.gpr[LR] = SIGNED(CALLER);
			scratch.regs.gpr[REG_LEAVING_SP] = STACK + 8 * 6;
		}
		assert_int_equal(step(INTERPRETER_CODE + 4 * at), END_NONE);
		assert_stepped("leaving", at, gone ? 6 : 26, gone ? STACK + 8 * 20 : SAVED_FP);
	}
}

static void an_adapter_has_the_callers_stack_pointer_in_a_register(void **state)
{
	(void)state;
	make_insns("I2C/C2I adapters", 0, 0, leaving, 0);
	scratch.regs.gpr[LR] = SIGNED(CALLER);
	scratch.regs.gpr[REG_SENDER_SP] = STACK + 8 * 4;
	assert_int_equal(step(16), END_NONE);
	assert_stepped("adapter", 0, 4, OWN_FP);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static void a_stub_has_a_record_or_nothing(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		make_insns("StubRoutines (1)", 0, 0, leaving, 0);
		put(BLOB_AT + 24, 1024);
		scratch.regs.gpr[LR] = SIGNED(CALLER);
		scratch.regs.fp = STACK + 8 * 4;
		if (i > 0) {
			put_word(4, SAVED_FP);
			put_word(5, SIGNED(CALLER));
		}
		if (i == 2) /* it has called a part of itself */
			scratch.regs.gpr[LR] = MEMORY + CODE_AT + 64;
		assert_int_equal(step(16), END_NONE);
		assert_stepped("stub", i, i ? 6 : 0, i ? SAVED_FP : STACK + 8 * 4);
	}
}

static void the_stub_that_calls_java_is_left_to_native_code(void **state)
{
	(void)state;
	for (u32 exact = 0; exact < 2; exact++) {
		make_insns("StubRoutines (1)", 0, 0, leaving, 0);
		put(BLOB_AT + 24, 1024);
		hotspot.process.call_return = exact ? 1 : MEMORY + CODE_AT + 16;
		scratch.regs.exact = exact;
		scratch.regs.fp = STACK + 8 * 7;
		scratch.regs.gpr[LR] = MEMORY + CODE_AT + 16;
		put_word(7, SAVED_FP);
		put_word(8, SIGNED(0x12345678));
		assert_int_equal(step(16), END_NONE);
		assert_true(scratch.regs.pc == 0x12345678 && scratch.regs.fp == SAVED_FP);
		assert_true(scratch.regs.sp == STACK + 8 * 9);
	}
}

static void the_handler_of_an_exception_was_jumped_to(void **state)
{
	(void)state;
	make_insns("ExceptionBlob", 4, 8, small + 2, sizeof(small) - 8);
	scratch.regs.gpr[REG_THROWN_AT] = CALLER;
	assert_int_equal(step(0), END_NONE);
	assert_stepped("before its frame", 0, 0, OWN_FP);
	make_insns("ExceptionBlob", 4, 8, small + 2, sizeof(small) - 8);
	put_word(2, SAVED_FP);
	put_word(3, CALLER);
	assert_int_equal(step(8), END_NONE);
	assert_stepped("with a frame", 0, 4, SAVED_FP);
}

/* ---- a process that lies --------------------------------------------------------------------- */

static void what_no_jvm_has_ends_the_step(void **state)
{
	static const s32 sizes[] = { -1, -0x80000000LL, 0x7fffffff, 0x10000, 0 };
	static const char *const names[] = { "nmethod", "Interpreter", "StubRoutines (1)",
		"I2C/C2I adapters", "ExceptionBlob", "vtable chunks" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			make_insns(names[n], sizes[i], 0, small, sizeof(small));
			assert_int_equal(step(16), END_UNSUPPORTED);
			make_insns(names[n], sizes[i], 0, small, sizeof(small));
			scratch.regs.sp = scratch.regs.fp = ~7ULL;
			assert_int_equal(step(16), END_UNSUPPORTED);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_compiled_code_is_stepped_exactly),
		cmocka_unit_test(a_frame_of_the_interpreter_says_its_place_and_its_caller),
		cmocka_unit_test(it_has_no_frame_where_it_enters_and_leaves_a_method),
		cmocka_unit_test(an_adapter_has_the_callers_stack_pointer_in_a_register),
		cmocka_unit_test(a_stub_has_a_record_or_nothing),
		cmocka_unit_test(the_stub_that_calls_java_is_left_to_native_code),
		cmocka_unit_test(the_handler_of_an_exception_was_jumped_to),
		cmocka_unit_test(what_no_jvm_has_ends_the_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
