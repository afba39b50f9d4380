/* SPDX-License-Identifier: Apache-2.0 */
/* test_hotspot_walk.c - one step out of code of HotSpot's, at each instruction of its forms. On
 * x86-64. */
#undef __TARGET_ARCH_arm64
#ifndef __aarch64__
#include "make_hotspot.h"

static void assert_caller(const char *what, u32 ra_word, u64 fp)
{
	if (scratch.regs.pc != MEMORY + CALLER_AT || scratch.regs.fp != fp ||
		scratch.regs.sp != STACK + 8 * (ra_word + 1))
		fail_msg("%s: pc %#llx, word %lld, fp %#llx", what, scratch.regs.pc,
			(long long)(scratch.regs.sp - STACK) / 8 - 1, scratch.regs.fp);
}

/* ---- compiled code --------------------------------------------------------------------------- */

/* sub $0x18,%rsp; mov %rbp,0x10(%rsp); nop; call (5); push 8(%rsp); pop (%rsp); add $0x10,%rsp;
 * pop %rbp; cmp 8(%r15),%rsp; ja; ret */
static const u8 second[] = { 0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90,
	0xe8, 1, 2, 3, 4, 0x48, 0xff, 0x74, 0x24, 8, 0x48, 0x8f, 0x04, 0x24, 0x48, 0x83, 0xc4, 0x10,
	0x5d, 0x49, 0x3b, 0xa7, 8, 0, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3 };
/* mov %eax,-0x14000(%rsp); push %rbp; sub $0x10,%rsp; nop */
static const u8 first[] = { 0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x10,
	0x90 };
/* add $0x10,%rsp; pop %rbp; mov 0x108(%r15),%r10; test %eax,(%r10); ret, of version 11 */
static const u8 ending_11[] = { 0x48, 0x83, 0xc4, 0x10, 0x5d, 0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0x41,
	0x85, 2, 0xc3 };
/* add $0x10,%rsp; pop %rbp; test %eax,n(%rip); ret, of version 8 */
static const u8 ending_8[] = { 0x48, 0x83, 0xc4, 0x10, 0x5d, 0x85, 5, 1, 2, 3, 4, 0xc3 };

#define NO_WORD (~0U)

static const struct {
	const char *what;
	const u8 *code;
	u32 offset, exact, complete, ra_word, fp_word;
} places[] = {
	{ "11: before the poll", ending_11, 5, 1, 0, 0, NO_WORD },
	{ "11: in the poll", ending_11, 12, 1, 0, 0, NO_WORD },
	{ "11: before ret", ending_11, 15, 1, 0, 0, NO_WORD },
	{ "8: before pop", ending_8, 4, 1, 0, 1, 0 },
	{ "8: before the poll", ending_8, 5, 1, 0, 0, NO_WORD },
	{ "8: before ret", ending_8, 11, 1, 0, 0, NO_WORD },
	{ "before the frame", second, 0, 1, 12, 0, NO_WORD },
	{ "before the frame pointer is saved", second, 7, 1, 12, 3, NO_WORD },
	{ "in the code", second, 12, 1, 12, 3, 2 },
	{ "returned to", second, 18, 0, 12, 3, 2 },
	{ "between push and pop", second, 23, 1, 12, 4, 3 },
	{ "before add", second, 27, 1, 12, 3, 2 },
	{ "before pop", second, 31, 1, 12, 1, 0 },
	{ "before the poll", second, 32, 1, 12, 0, NO_WORD },
	{ "in the poll", second, 39, 1, 12, 0, NO_WORD },
	{ "before ret", second, 45, 1, 12, 0, NO_WORD },
	{ "before the check of the stack", first, 0, 1, 12, 0, NO_WORD },
	{ "before push", first, 7, 1, 12, 0, NO_WORD },
	{ "after push", first, 8, 1, 12, 1, 0 },
	{ "after sub", first, 12, 1, 12, 3, 2 },
	{ "after sub, not complete", first, 12, 1, 13, 3, 2 },
};

static size_t code_bytes(const u8 *code)
{
	return code == first ? sizeof(first)
		: code == second ? sizeof(second)
		: code == ending_11 ? sizeof(ending_11)
				    : sizeof(ending_8);
}

static void each_instruction_of_compiled_code_is_stepped_exactly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		u64 fp = places[i].fp_word == NO_WORD ? OWN_FP : SAVED_FP;

		make("nmethod", 4, places[i].complete, places[i].code,
			code_bytes(places[i].code));
		scratch.regs.exact = places[i].exact;
		put_word(places[i].ra_word, MEMORY + CALLER_AT);
		if (places[i].fp_word != NO_WORD)
			put_word(places[i].fp_word, SAVED_FP);
		assert_int_equal(step(places[i].offset), END_NONE);
		assert_caller(places[i].what, places[i].ra_word, fp);
		assert_int_equal(scratch.how, 0);
		assert_true(scratch.code == frame_code(OBJECT_FIRST,
				places[i].offset - !places[i].exact));
	}
}

/* ---- interpreted code ------------------------------------------------------------------------ */

/* pop %r13; mov %rbx,%rsp; jmp *%r13 */
static const u8 leaving[] = { 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5 };

static void make_interpreter(void)
{
	make("Interpreter", 0, 0, leaving, sizeof(leaving));
	scratch.regs.fp = STACK + 8 * 20;
	put_word(20 - 3, MEMORY + METHOD_AT);
	put_word(20 - 8, MEMORY + CONST_AT + 64 + 7); /* bytecode */
	put_word(20 - 1, STACK + 8 * 25);	      /* the caller's stack pointer */
	put_word(20, SAVED_FP);
	put_word(21, MEMORY + CALLER_AT);
	scratch.regs.gpr[ARCH_REG_BYTECODE] = MEMORY + CONST_AT + 64 + 9;
}

static void a_frame_of_the_interpreter_says_its_place_and_its_caller(void **state)
{
	(void)state;
	make_interpreter();
	assert_int_equal(step(30), END_NONE);
	assert_caller("interrupted", 24, SAVED_FP);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 9));
	make_interpreter();
	scratch.regs.exact = 0;
	assert_int_equal(step(30), END_NONE);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 7));
}

static u64 identity_at(u64 at, u64 word, bool compiled)
{
	if (compiled)
		make("nmethod", 4, 12, second, sizeof(second));
	else
		make_interpreter();
	if (at)
		put(at, word);
	identity = 0;
	step(compiled ? 12 : 30);
	assert_int_not_equal(identity, 0);
	return identity;
}

/* Classes are unloaded, and code is freed: others of the same sizes take their places. */
static void another_code_in_the_same_place_has_another_identity(void **state)
{
	const u64 interpreted = identity_at(0, 0, false), compiled = identity_at(0, 0, true);

	(void)state;
	assert_true(identity_at(0, 0, false) == interpreted);
	assert_true(identity_at(0, 0, true) == compiled);
	assert_true(interpreted != compiled);
	assert_true(identity_at(SYMBOL_AT + 4, 0x10001, false) != interpreted);
	assert_true(identity_at(SYMBOL_AT + 4, 2, false) == interpreted);
	/* Of thousands of classes two have one random number: their names differ. */
	assert_true(identity_at(SYMBOL_AT + 14 + CLASS_BYTES - 8, 0, false) != interpreted);
	assert_true(identity_at(SYMBOL_AT + 14 + CLASS_BYTES - 64, 0, false) != interpreted);
	assert_true(identity_at(SYMBOL_AT + 14 + CLASS_BYTES, 0, false) == interpreted);
	assert_true(identity_at(KLASS_AT + 32, MEMORY + SYMBOL_AT + 128, false) != interpreted);
	assert_true(identity_at(CONST_AT + 8, 101, false) != interpreted);
	assert_true(identity_at(BLOB_AT + 40, 78, true) != compiled);
	assert_true(identity_at(BLOB_AT + 32, MEMORY + METHOD_AT + 64, true) != compiled);
}

static void it_has_no_frame_where_it_enters_and_leaves_a_method(void **state)
{
	(void)state;
	make_interpreter();
	scratch.regs.gpr[ARCH_REG_BYTECODE] = STACK + 8 * 6; /* the caller's stack pointer */
	put_word(0, MEMORY + CALLER_AT);
	assert_int_equal(step(30), END_NONE);
	assert_caller("entering", 5, STACK + 8 * 20);
	make_interpreter();
	scratch.regs.gpr[ARCH_REG_BYTECODE] = STACK + 8 * 6;
	scratch.regs.gpr[REG_RESULT] = MEMORY + CALLER_AT;
	assert_int_equal(step(30), END_NONE);
	assert_caller("entering, its return address in a register", 5, STACK + 8 * 20);
	for (u32 offset = 0; offset <= 5; offset += offset ? 3 : 2) {
		make_interpreter();
		put_word(0, offset ? 0x5000 : MEMORY + CALLER_AT);
		if (offset)
			scratch.regs.gpr[ARCH_REG_BYTECODE] = MEMORY + CALLER_AT;
		scratch.regs.gpr[REG_LEAVING_SP] = STACK + 8 * 6;
		assert_int_equal(step(offset), END_NONE);
		assert_caller("leaving", 5, STACK + 8 * 20);
	}
}

/* mov -16(%rbp),%rsp; movq $0,-16(%rbp); mov -0x40(%rbp),%r13 */
static const u8 returned[] = { 0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0, 0, 0, 0, 0, 0x4c,
	0x8b, 0x6d, 0xc0 };

static void its_frame_is_whole_where_a_call_returns_to(void **state)
{
	(void)state;
	for (u32 offset = 0; offset <= 12; offset += offset ? 8 : 4) {
		make_interpreter();
		memcpy(scratch.memory + CODE_AT, returned, sizeof(returned));
		scratch.regs.gpr[ARCH_REG_BYTECODE] = STACK + 8 * 6; /* the callee left it */
		put_word(0, MEMORY + CALLER_AT);
		assert_int_equal(step(offset), END_NONE);
		assert_caller("returned to", 24, SAVED_FP);
		assert_true(scratch.code == frame_code(OBJECT_FIRST, 7));
	}
}

/* Its arguments are between its return address and the caller's stack pointer. */
static void an_adapter_has_the_callers_stack_pointer_in_a_register(void **state)
{
	(void)state;
	make("I2C/C2I adapters", 0, 0, leaving, 0);
	scratch.regs.gpr[REG_SENDER_SP] = STACK + 8 * 6;
	put_word(0, MEMORY + CALLER_AT);
	assert_int_equal(step(30), END_NONE);
	assert_caller("adapter", 5, OWN_FP);
}

static void words_below_the_return_address_are_passed_over(void **state)
{
	(void)state;
	make_interpreter();
	scratch.regs.gpr[ARCH_REG_BYTECODE] = STACK + 8 * 6;
	put_word(0, MEMORY + CALLER_AT + 64); /* left from an earlier call */
	put_word(5, MEMORY + CALLER_AT);
	assert_int_equal(step(30), END_NONE);
	assert_caller("computing a power", 5, STACK + 8 * 20);
}

static void version_8_has_the_place_in_another_word(void **state)
{
	(void)state;
	make_interpreter();
	hotspot.process.bytecode = 1;
	put_word(20 - 7, MEMORY + CONST_AT + 64 + 5);
	scratch.regs.exact = 0;
	assert_int_equal(step(30), END_NONE);
	assert_true(scratch.code == frame_code(OBJECT_FIRST, 5));
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static void a_stub_was_called_by_who_calls_it(void **state)
{
	static const u8 nop[] = { 0x90 };
	static const u8 call[] = { 0x49, 0xba };

	(void)state;
	make("StubRoutines (1)", 0, 0, nop, sizeof(nop));
	memcpy(scratch.memory + CALLER_AT - 13, call, sizeof(call));
	put(CALLER_AT - 11, MEMORY + CODE_AT + 8);
	memcpy(scratch.memory + CALLER_AT - 3, "\x41\xff\xd2", 3);
	put_word(3, MEMORY + CALLER_AT + 64); /* a word that looks like one */
	put_word(89, SAVED_FP);
	put_word(90, MEMORY + CALLER_AT);
	assert_int_equal(step(16), END_NONE);
	assert_caller("a stub that uses the frame pointer", 90, SAVED_FP);
}

static void the_stub_that_calls_java_is_left_to_native_code(void **state)
{
	static const u8 nop[] = { 0x90 };

	(void)state;
	make("StubRoutines (1)", 0, 0, nop, sizeof(nop));
	hotspot.process.call_return = MEMORY + CODE_AT + 16;
	scratch.regs.exact = 0;
	scratch.regs.fp = STACK + 8 * 7;
	put_word(7, SAVED_FP);
	put_word(8, 0x12345678);
	assert_int_equal(step(16), END_NONE);
	assert_true(scratch.regs.pc == 0x12345678 && scratch.regs.fp == SAVED_FP);
	assert_true(scratch.regs.sp == STACK + 8 * 9);
}

/* ---- a process that lies --------------------------------------------------------------------- */

static void what_no_jvm_has_ends_the_step(void **state)
{
	static const s32 sizes[] = { -1, -0x80000000LL, 0x7fffffff, 0x10000, 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		make("nmethod", sizes[i], 0, second, sizeof(second));
		assert_int_equal(step(12), END_UNSUPPORTED);
	}
	make("nmethod", 4, 0, second, sizeof(second));
	memset(scratch.memory + SEGMENTS_AT, 1, HEAP_BYTES >> SEGMENT_LOG2); /* no first one */
	step(12);
	assert_int_equal(hotspot.step, HOTSPOT_NONE);
	make("nmethod", 4, 0, second, sizeof(second));
	put(BLOB_AT, 0xdeadULL << 48);
	step(12);
	assert_int_equal(hotspot.step, HOTSPOT_NONE);
	make("nmethod", 4, 0, second, sizeof(second));
	hotspot.process.nmethod_compile_id = UINT16_MAX; /* where nothing can be read */
	step(12);
	assert_true(scratch.code == 0);
	make("nmethod", 4, 0, second, sizeof(second));
	scratch.regs.sp = ~7ULL;
	assert_int_equal(step(12), END_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_compiled_code_is_stepped_exactly),
		cmocka_unit_test(a_frame_of_the_interpreter_says_its_place_and_its_caller),
		cmocka_unit_test(another_code_in_the_same_place_has_another_identity),
		cmocka_unit_test(it_has_no_frame_where_it_enters_and_leaves_a_method),
		cmocka_unit_test(its_frame_is_whole_where_a_call_returns_to),
		cmocka_unit_test(an_adapter_has_the_callers_stack_pointer_in_a_register),
		cmocka_unit_test(words_below_the_return_address_are_passed_over),
		cmocka_unit_test(version_8_has_the_place_in_another_word),
		cmocka_unit_test(a_stub_was_called_by_who_calls_it),
		cmocka_unit_test(the_stub_that_calls_java_is_left_to_native_code),
		cmocka_unit_test(what_no_jvm_has_ends_the_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 0;
}
#endif
