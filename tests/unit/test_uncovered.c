/* SPDX-License-Identifier: Apache-2.0 */
/* Steps out of code without unwind rows, on made code and a made stack (bpf/uncovered_x86.bpf.h):
 * where they lead, and whether they are proven. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "bpf/reasons.h"
#include "unwind/walk.h"

#ifdef __x86_64__

/* A file whose last page has rows: all of it is the outermost function. Code in no file follows. */
#define FILE_CODE 0x100000ULL
#define ROWS 0x10f000ULL
#define JIT_CODE 0x110000ULL
#define CODE_END 0x111000ULL
#define STACK 0x7ffc0000ULL
#define STACK_WORDS 64
#define AT(i) (STACK + 8ULL * (i))

struct made {
	struct event_deferred deferred;
	uint8_t code[CODE_END - FILE_CODE];
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack stack;
};

static uint32_t ready(void *ctx, uint32_t object)
{
	(void)ctx, (void)object;
	return TABLE_READY;
}

static uint32_t rule(void *ctx, uint32_t object, uint64_t offset, struct unwind_rule *out)
{
	(void)ctx, (void)object;
	*out = (struct unwind_rule){ .cfa = CFA_NONE };
	if (offset >= ROWS - FILE_CODE)
		*out = (struct unwind_rule){ .cfa = CFA_REG, .ra = RA_UNDEFINED };
	return END_NONE;
}

static int read_code(
	void *ctx, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	const struct made *made = ctx;

	if (!m || addr < FILE_CODE || addr + size > CODE_END)
		return -1;
	memcpy(dst, made->code + (addr - FILE_CODE), size);
	return 0;
}

static struct made *made_new(uint64_t pc, uint64_t fp)
{
	static struct made made;

	memset(&made, 0, sizeof(made));
	memset(made.code, 0x90, sizeof(made.code));
	made.deferred.pc = pc;
	made.deferred.sp = STACK;
	made.deferred.fp = fp;
	made.deferred.exact = 1;
	made.deferred.stack_bytes = 8 * STACK_WORDS;
	return &made;
}

static void put_code(struct made *made, uint64_t at, const char *bytes, size_t len)
{
	memcpy(made->code + (at - FILE_CODE), bytes, len);
}

#define CODE(made, at, bytes) put_code(made, at, bytes, sizeof(bytes) - 1)

/* A call of `target` that returns to `at`. */
static uint64_t put_call(struct made *made, uint64_t at, uint64_t target)
{
	int32_t relative = (int32_t)(target - at);

	CODE(made, at - 5, "\xe8");
	put_code(made, at - 4, (const char *)&relative, sizeof(relative));
	return at;
}

static void put_word(struct made *made, size_t i, uint64_t word)
{
	memcpy(deferred_stack(&made->deferred) + 8 * i, &word, sizeof(word));
}

static uint32_t walk(struct made *made)
{
	static const struct scan_mapping code[] = {
		{ .start = FILE_CODE, .end = JIT_CODE, .object = 1 },
		{ .start = JIT_CODE, .end = CODE_END },
	};
	const struct walk_world world = {
		.memory = made, .table = ready, .rule = rule, .read = read_code
	};

	made->stack.frames = made->frames;
	return walk_deferred(&world, &made->deferred, code, ARRAY_SIZE(code), &made->stack);
}

/* The i-th frame is this return address, reached in this way. */
static void expect_frame(const struct made *made, uint32_t i, uint64_t address, uint64_t how)
{
	uint64_t frame = made->frames[i], kind = FRAME_KIND(frame);

	assert_true(i < made->stack.frames_len);
	assert_int_equal(kind, address > JIT_CODE ? FRAME_ANON : FRAME_FILE);
	assert_int_equal(kind == FRAME_FILE ? (frame & FRAME_OFFSET_MASK) + FILE_CODE
					    : frame & FRAME_PAYLOAD_MASK,
		address - 1);
	assert_int_equal(frame & FRAME_HOW_MASK, how);
}

#define PC (FILE_CODE + 0x1000)
#define CALLER (FILE_CODE + 0x3000)

static void a_frame_pointer_of_zero_is_no_root(void **state)
{
	struct made *made = made_new(PC, AT(8));

	(void)state;
	put_word(made, 8, 0);
	put_word(made, 9, put_call(made, CALLER, PC - 0x10));
	assert_int_equal(walk(made), END_FP_CHAIN);
	assert_int_equal(made->stack.frames_len, 2);
	expect_frame(made, 1, CALLER, FRAME_BY_CHAIN);
}

#define MANY "\x74\0\x74\0\x74\0\x74\0\x74\0\x74\0\x74\0\x74\0"

/* Interrupted before `code`, which stands `back` bytes after the function's first. */
static const struct {
	const char *what, code[128];
	size_t back;
	int ra, fp; /* words above the stack pointer; -1: not shown, or not popped */
} ways[] = {
	{ "ret", "\xc3", 0, 0, -1 },
	{ "rep ret", "\xf3\xc3", 0, 0, -1 },
	{ "ret $16", "\xc2\x10\x00", 0, 0, -1 },
	{ "add $24,%rsp; ret", "\x48\x83\xc4\x18\xc3", 0, 3, -1 },
	{ "pop %rbx; pop %r12; ret", "\x5b\x41\x5c\xc3", 0, 2, -1 },
	{ "add $8,%rsp; pop %rbx; pop %rbp; ret", "\x48\x83\xc4\x08\x5b\x5d\xc3", 0, 3, 2 },
	{ "push %rbp; mov %rsp,%rbp", "\x55\x48\x89\xe5", 0, 0, -1 },
	{ "push %rbp; mov %rsp,%rbp, the other encoding", "\x55\x48\x8b\xec", 0, 0, -1 },
	{ "mov %rsp,%rbp after push", "\x55\x48\x89\xe5", 1, 1, 0 },
	{ "Node's first instructions",
		"\x48\x8b\x59\xf8\xf6\x43\x35\x01\x0f\x85\0\0\0\0\x55\x48\x89\xe5", 0, 0, -1 },
	{ "Node's last ones", "\x48\x83\xf9\x02\x7f\x03\xc2\x10\x00", 0, 0, -1 },
	{ "HotSpot's first instructions", "\x89\x84\x24\0\xc0\xfe\xff\x55\x48\x8b\xec", 0, 0, -1 },
	{ "HotSpot's last ones", "\x5d\x49\x3b\xa7\x40\x03\0\0\x0f\x87\0\0\0\0\xc3", 0, 1, 0 },
	{ "pop %rsp; ret", "\x5c\xc3", 0, -1, -1 },
	{ "sub $8,%rsp; ret", "\x48\x83\xec\x08\xc3", 0, -1, -1 },
	{ "add $-8,%rsp; ret", "\x48\x83\xc4\xf8\xc3", 0, -1, -1 },
	{ "mov (%rax),%rsp; ret", "\x48\x8b\x20\xc3", 0, -1, -1 },
	{ "mov (%rax),%rbp; ret", "\x48\x8b\x28\xc3", 0, -1, -1 },
	{ "a call", "\xe8\0\0\0\0\xc3", 0, -1, -1 },
	{ "ud2, then another function", "\x0f\x0b\x55\x48\x89\xe5", 0, -1, -1 },
	{ "push %rbp; push %r14; lea 8(%rsp),%rbp, as CoreCLR does",
		"\x55\x41\x56\x48\x8d\x6c\x24\x08", 0, 0, -1 },
	{ "CoreCLR's first instructions, after the push", "\x55\x41\x56\x48\x8d\x6c\x24\x08", 1, 1,
		0 },
	{ "sub $24,%rsp; movaps %xmm0,(%rsp); add $24,%rsp; ret",
		"\x48\x83\xec\x18\x0f\x29\x04\x24\x48\x83\xc4\x18\xc3", 0, 0, -1 },
	{ "jmp; ud2; ret", "\xeb\x02\x0f\x0b\xc3", 0, 0, -1 },
	{ "movabs; vaddsd; imul; test; ret",
		"\x49\xba\1\2\3\4\5\6\7\x08\xc5\xfb\x58\xc1\x69\xc0\1\1\0\0\xf6\xc1\1\xc3", 0, 0,
		-1 },
	{ "mulss 16(%rip); cmovne; opsize mov; ret",
		"\xf3\x0f\x59\x05\x10\0\0\0\x48\x0f\x45\xc1\x66\xc7\x01\2\0\xc3", 0, 0, -1 },
	{ "ja over int3; ret", "\x77\x01\xcc\xc3", 0, 0, -1 },
	{ "jle over sub %r10,%rsp; ret", "\x7e\x04\x49\x2b\xe2\xf4\xc3", 0, 0, -1 },
	{ "and $-16,%rsp; ret", "\x48\x83\xe4\xf0\xc3", 0, -1, -1 },
	{ "too many instructions", MANY MANY MANY MANY MANY MANY MANY "\xc3", 0, -1, -1 },
};

#define CALLERS_FP AT(40)

/* The call is indirect: nothing but the code shows that it led here. */
static void code_near_its_functions_end_or_beginning_proves_the_caller(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct made *made = made_new(PC, CALLERS_FP);
		uint64_t proven = ways[i].ra >= 0 ? ROWS + 0x10 : 0;

		put_code(made, PC - ways[i].back, ways[i].code, sizeof(ways[i].code));
		CODE(made, ROWS + 0x10 - 2, "\xff\xd0");
		for (size_t n = 0; n < 8; n++)
			put_word(made, n, n == (size_t)ways[i].ra ? proven : 0x5000 + n);
		if (ways[i].fp >= 0)
			put_word(made, (size_t)ways[i].fp, AT(50));
		walk(made);
		if (made->stack.frames_len != (proven ? 2 : 1))
			fail_msg("%s: %u frames", ways[i].what, made->stack.frames_len);
		if (proven)
			expect_frame(made, 1, proven, 0);
	}
}

/* On top is a word that looks like a return address; the frame is the true one. */
static void a_function_that_takes_its_frame_down_has_one(void **state)
{
	static const char *const codes[] = { "\xc9\xc3", "\x48\x89\xec\x5d\xc3",
		"\x48\x8b\x45\xf8\x48\x8b\xe5\x5d\xc3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct made *made = made_new(PC, AT(8));

		put_code(made, PC, codes[i], strlen(codes[i]));
		put_word(made, 0, put_call(made, ROWS + 0x40, PC));
		put_word(made, 8, AT(30));
		put_word(made, 9, put_call(made, ROWS + 0x10, PC));
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, ROWS + 0x10, FRAME_BY_CHAIN);
	}
}

/* Code written by hand: `test %rdi,%rdi; jne` over a `ret` that never runs, and the jump leads to
 * `dec %ecx; jne` back, `pop %rdi; ret`. A stale return address is on top of the stack. */
static void ways_out_that_differ_prove_nothing(void **state)
{
	struct made *made = made_new(PC, CALLERS_FP);
	uint64_t stale = ROWS + 0x10;

	(void)state;
	CODE(made, PC, "\x48\x85\xff\x75\x01\xc3\xff\xc9\x75\xf6\x5f\xc3");
	CODE(made, stale - 2, "\xff\xd0");
	put_word(made, 0, stale);
	put_word(made, 1, stale + 0x100);
	walk(made);
	assert_int_equal(made->stack.frames_len, 2);
	expect_frame(made, 1, stale, FRAME_BY_CHAIN);
}

/* lea (%rsp,%rax,8),%rsp; push %rcx; ret: Node's builtins return like this after they have dropped
 * arguments. */
static void a_return_address_in_a_register_makes_the_chain_a_guess(void **state)
{
	struct made *made = made_new(PC, AT(8));

	(void)state;
	CODE(made, PC, "\x48\x8d\x24\xc4\x51\xc3");
	put_word(made, 8, AT(30));
	put_word(made, 9, put_call(made, ROWS + 0x10, PC));
	assert_int_equal(walk(made), END_ROOT);
	expect_frame(made, 1, ROWS + 0x10, FRAME_BY_CHAIN | FRAME_BY_GUESS);
}

/* The other way round: the register has the address, whichever of the two instructions is next. */
static void a_return_address_in_a_register_is_taken_from_there(void **state)
{
	static const char *const codes[] = { "\x48\x8d\x24\xc4\x51\xc3", "\x51\xc3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct made *made = made_new(PC, AT(8));

		put_code(made, PC, codes[i], strlen(codes[i]));
		made->deferred.gpr[2] = put_call(made, ROWS + 0x10, PC); /* rcx */
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, ROWS + 0x10, FRAME_BY_CHAIN);
	}
}

/* V8's bytecode handlers jump to the next one; a jump by a table stays in the function. */
static void a_function_that_jumps_on_has_no_frame(void **state)
{
	static const struct {
		const char *code;
		uint64_t caller, how;
	} rows[] = {
		{ "\x4b\x8b\x0c\xdf\xff\xe1", ROWS + 0x10, FRAME_BY_CHAIN }, /* jmp *%rcx */
		{ "\x41\xff\x65\x10", ROWS + 0x10, FRAME_BY_CHAIN },         /* jmp *16(%r13) */
		{ "\xff\x65\x10", ROWS + 0x20, FRAME_BY_CHAIN },             /* jmp *16(%rbp) */
		/* push (%rsp); jmp *16(%r13) */
		{ "\xff\x34\x24\x41\xff\x65\x10", ROWS + 0x10, FRAME_BY_CHAIN },
		/* pop %rcx; push %rax; push %rcx; jmp *16(%r13) */
		{ "\x59\x50\x51\x41\xff\x65\x10", ROWS + 0x10, FRAME_BY_CHAIN },
		/* pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret */
		{ "\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3", ROWS + 0x10, FRAME_BY_CHAIN },
		{ "\xff\x24\xc1\xc3", ROWS + 0x10, FRAME_BY_GUESS }, /* jmp *(%rcx,%rax,8) */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made *made = made_new(JIT_CODE + 0x100, AT(8));

		print_message("row %zu\n", i);
		put_code(made, JIT_CODE + 0x100, rows[i].code, strlen(rows[i].code));
		CODE(made, ROWS + 0x10 - 2, "\xff\xd0");
		CODE(made, ROWS + 0x20 - 2, "\xff\xd0");
		put_word(made, 0, ROWS + 0x10);
		put_word(made, 8, AT(30));
		put_word(made, 9, ROWS + 0x20);
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, rows[i].caller, rows[i].how);
	}
}

/* A stale return address is on top of its stack. */
static void a_function_that_uses_its_frame_has_one(void **state)
{
	static const char *const codes[] = {
		"\x48\x8b\x45\xf8",                     /* mov -8(%rbp),%rax */
		"\x48\x8b\x44\xc5\xf8",                 /* mov -8(%rbp,%rax,8),%rax */
		"\x51\xe8\x11\x11\x11\x11\xf7\x45\xe8", /* push; call; testl -24(%rbp) */
		"\xc5\xfb\x10\x4d\xd0",                 /* vmovsd -48(%rbp),%xmm1 */
		"\x48\x8d\x65\xd8\x5b\xc3",             /* lea -40(%rbp),%rsp */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct made *made = made_new(JIT_CODE + 0x100, AT(8));

		print_message("row %zu\n", i);
		put_code(made, JIT_CODE + 0x100, codes[i], strlen(codes[i]));
		put_word(made, 0, put_call(made, ROWS + 0x40, JIT_CODE + 0x100));
		put_word(made, 8, AT(30));
		put_word(made, 9, put_call(made, ROWS + 0x10, JIT_CODE));
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, ROWS + 0x10, FRAME_BY_CHAIN);
	}
}

/* The frame pointer is still the caller's where a return address into the caller is near the top of
 * the stack or in a register: a step along it would lose the caller. Else the function that was
 * called has jumped. */
static void a_chain_that_may_skip_the_caller_is_a_guess(void **state)
{
	static const struct {
		uint64_t at, word, how;
	} rows[] = { { 2, JIT_CODE + 0x280, FRAME_BY_CHAIN | FRAME_BY_GUESS },
		{ 2, JIT_CODE + 0x180, FRAME_BY_CHAIN }, { 2, 0, FRAME_BY_CHAIN },
		{ 15, JIT_CODE + 0x280, FRAME_BY_CHAIN | FRAME_BY_GUESS },
		{ 16, JIT_CODE + 0x280, FRAME_BY_CHAIN },
		{ 21, JIT_CODE + 0x280, FRAME_BY_CHAIN } };

	(void)state;
	for (size_t in_register = 0; in_register < 2; in_register++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct made *made =
				made_new(JIT_CODE + 0x100, rows[i].at < 20 ? AT(20) : AT(8));
			uint64_t fp = made->deferred.fp == AT(20) ? 20 : 8;

			put_call(made, JIT_CODE + 0x280, JIT_CODE);
			put_call(made, JIT_CODE + 0x180, JIT_CODE);
			if (in_register)
				made->deferred.gpr[11] = rows[i].word;
			else
				put_word(made, rows[i].at, rows[i].word);
			put_word(made, fp, AT(30));
			put_word(made, fp + 1, put_call(made, ROWS + 0x10, JIT_CODE + 0x200));
			assert_int_equal(walk(made), END_ROOT);
			expect_frame(made, 1, ROWS + 0x10,
				in_register && rows[i].word == JIT_CODE + 0x280
					? FRAME_BY_CHAIN | FRAME_BY_GUESS
					: rows[i].how);
		}
}

#define JMP "\xff\x25\x11\x11\x11\x11" /* through memory, as a linker's stub does */
#define ENDBR "\xf3\x0f\x1e\xfa"

static void a_word_on_top_of_the_stack_is_a_guess_unless_its_call_led_here(void **state)
{
	static const struct {
		uint64_t target, how, pc;
		const char *code;
	} rows[] = { { PC, FRAME_BY_CHAIN, PC, "" }, { PC - 0x100, FRAME_BY_CHAIN, PC, "" },
		{ PC + 1, FRAME_BY_GUESS, PC, "" }, { PC - 0x10000, FRAME_BY_GUESS, PC, "" },
		{ PC, 0, PC, JMP }, { PC, 0, PC, ENDBR "\xf2" JMP }, { PC, 0, PC + 4, ENDBR JMP },
		{ PC - 0x40, FRAME_BY_CHAIN, PC, JMP }, { PC - 4, FRAME_BY_CHAIN, PC, JMP },
		{ PC + 8, FRAME_BY_CHAIN, PC, JMP },
		{ PC, FRAME_BY_CHAIN, PC + 1, "\x50" JMP },               /* push %rax */
		{ PC, FRAME_BY_CHAIN, PC + 4, "\x48\x83\xec\x08" JMP } }; /* sub $8,%rsp */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made *made = made_new(rows[i].pc, 0);

		put_code(made, PC, rows[i].code, strlen(rows[i].code));
		put_word(made, 0, put_call(made, ROWS + 0x10, rows[i].target));
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, ROWS + 0x10, rows[i].how);
	}
}

static void a_stale_word_whose_call_leads_elsewhere_is_passed_over(void **state)
{
	struct made *made = made_new(PC, 0);

	(void)state;
	put_word(made, 1, put_call(made, CALLER, PC + 0x2800));
	put_word(made, 3, put_call(made, CALLER + 0x100, PC + 1));
	put_word(made, 5, put_call(made, ROWS + 0x10, PC - 0x100));
	assert_int_equal(walk(made), END_ROOT);
	assert_int_equal(made->stack.frames_len, 2);
	expect_frame(made, 1, ROWS + 0x10, FRAME_BY_GUESS);
}

static void a_call_over_a_stub_may_lead_here(void **state)
{
	static const struct {
		const char *code;
		size_t len;
	} stubs[] = { { "\xe9", 1 }, { "\xeb", 1 }, { "\xff\x25", 2 }, { "\xf2\xff\x25", 3 },
		{ "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7 }, { "\xf3\x0f\x1e\xfa\xe9", 5 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++) {
		struct made *made = made_new(PC, 0);

		print_message("row %zu\n", i);
		put_code(made, PC + 0x2800, stubs[i].code, stubs[i].len);
		put_word(made, 2, put_call(made, ROWS + 0x10, PC + 0x2800));
		assert_int_equal(walk(made), END_ROOT);
		expect_frame(made, 1, ROWS + 0x10, FRAME_BY_GUESS);
	}
}

static void a_leaf_may_have_been_jumped_to(void **state)
{
	struct made *made = made_new(PC, 0);

	(void)state;
	put_word(made, 0, put_call(made, ROWS + 0x10, PC + 0x2800));
	put_word(made, 1, put_call(made, ROWS + 0x40, PC));
	assert_int_equal(walk(made), END_ROOT);
	expect_frame(made, 1, ROWS + 0x10, FRAME_BY_GUESS);
}

/* After the call: mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall, as in musl's __clone. */
static void the_end_of_a_thread_is_a_root(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		uint32_t end;
	} rows[] = { { "\xf4", 1, END_FP_CHAIN },
		{ "\x89\xc7\x31\xc0\xb0\x3c\x0f\x05", 8, END_ROOT },
		{ "\x89\xc7\x31\xc0\xb0\x3d\x0f\x05", 8, END_FP_CHAIN },
		{ "\x90", 1, END_FP_CHAIN } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made *made = made_new(PC, 0);

		CODE(made, PC, "\xc3");
		put_word(made, 0, put_call(made, CALLER, PC));
		put_code(made, CALLER, rows[i].code, rows[i].len);
		assert_int_equal(walk(made), rows[i].end);
		assert_int_equal(made->stack.frames_len, 2);
		expect_frame(made, 1, CALLER, 0);
	}
}

/* musl's _start calls with an empty stack; glibc's pushes two words, calls and halts. */
static void the_entry_at_the_top_of_the_stack_is_a_root(void **state)
{
	static const struct {
		uint64_t start;
		const char *code;
		uint32_t end;
	} rows[] = { { AT(2), "\x90", END_ROOT }, { AT(4), "\x90", END_FP_CHAIN },
		{ AT(4), "\xf4", END_ROOT }, { AT(2), "\xf4", END_FP_CHAIN },
		{ 0, "\xf4", END_FP_CHAIN } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made *made = made_new(PC, 0);

		made->deferred.start_stack = rows[i].start;
		CODE(made, PC, "\x48\x83\xc4\x08\xc3");
		put_word(made, 1, put_call(made, CALLER, PC));
		put_code(made, CALLER, rows[i].code, 1);
		assert_int_equal(walk(made), rows[i].end);
		assert_int_equal(made->stack.frames_len, 2);
	}
}

/* Its caller saved a register and made room, and no other word may be a return address. Else it is
 * found by a search. */
static void the_word_at_the_top_of_the_stack_leads_to_the_entry(void **state)
{
	static const struct {
		uint64_t between, top;
		uint32_t end;
		uint64_t how;
	} rows[] = { { 0x1234, AT(9), END_ROOT, 0 },
		{ CALLER + 0x80, AT(9), END_ROOT, FRAME_BY_GUESS },
		{ 0x1234, AT(10), END_FP_CHAIN, FRAME_BY_GUESS },
		{ 0x1234, 0, END_FP_CHAIN, FRAME_BY_GUESS } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made *made = made_new(PC, 0);

		made->deferred.start_stack = rows[i].top;
		CODE(made, PC, "\xc3");
		put_word(made, 0, put_call(made, CALLER, PC));
		put_call(made, CALLER + 0x80, CALLER + 0x80000);
		put_word(made, 4, rows[i].between);
		put_word(made, 8, put_call(made, CALLER + 0x40, CALLER - 0x40));
		assert_int_equal(walk(made), rows[i].end);
		assert_int_equal(made->stack.frames_len, 3);
		expect_frame(made, 2, CALLER + 0x40, rows[i].how);
	}
}

/* A frame whose call leads far away, as of generated code that was jumped to, and below it a word
 * that an earlier call left. */
static struct made *with_stale_word(void)
{
	struct made *made = made_new(PC, AT(20));

	put_word(made, 5, put_call(made, ROWS + 0x40, PC));
	put_word(made, 20, AT(30));
	put_word(made, 21, put_call(made, CALLER, CALLER + 0x80000));
	return made;
}

static void a_chain_that_continues_wins_over_a_search(void **state)
{
	struct made *made = with_stale_word();

	(void)state;
	put_word(made, 30, 0);
	put_word(made, 31, put_call(made, ROWS + 0x10, CALLER - 0x100));
	assert_int_equal(walk(made), END_ROOT);
	assert_int_equal(made->stack.frames_len, 3);
	expect_frame(made, 1, CALLER, FRAME_BY_CHAIN);
	expect_frame(made, 2, ROWS + 0x10, FRAME_BY_CHAIN);
}

static void a_chain_of_one_frame_does_not(void **state)
{
	struct made *made = with_stale_word();

	(void)state;
	assert_int_equal(walk(made), END_ROOT);
	assert_int_equal(made->stack.frames_len, 2);
	expect_frame(made, 1, ROWS + 0x40, FRAME_BY_GUESS);
}

static void a_chain_to_a_word_that_no_call_precedes_is_a_guess(void **state)
{
	struct made *made = made_new(JIT_CODE + 0x100, AT(8));

	(void)state;
	put_word(made, 8, AT(20));
	put_word(made, 9, ROWS + 0x10);
	assert_int_equal(walk(made), END_ROOT);
	expect_frame(made, 1, ROWS + 0x10, FRAME_BY_CHAIN | FRAME_BY_GUESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_pointer_of_zero_is_no_root),
		cmocka_unit_test(code_near_its_functions_end_or_beginning_proves_the_caller),
		cmocka_unit_test(a_function_that_takes_its_frame_down_has_one),
		cmocka_unit_test(ways_out_that_differ_prove_nothing),
		cmocka_unit_test(a_return_address_in_a_register_makes_the_chain_a_guess),
		cmocka_unit_test(a_return_address_in_a_register_is_taken_from_there),
		cmocka_unit_test(a_function_that_jumps_on_has_no_frame),
		cmocka_unit_test(a_function_that_uses_its_frame_has_one),
		cmocka_unit_test(a_chain_that_may_skip_the_caller_is_a_guess),
		cmocka_unit_test(a_word_on_top_of_the_stack_is_a_guess_unless_its_call_led_here),
		cmocka_unit_test(a_stale_word_whose_call_leads_elsewhere_is_passed_over),
		cmocka_unit_test(a_call_over_a_stub_may_lead_here),
		cmocka_unit_test(a_leaf_may_have_been_jumped_to),
		cmocka_unit_test(the_end_of_a_thread_is_a_root),
		cmocka_unit_test(the_entry_at_the_top_of_the_stack_is_a_root),
		cmocka_unit_test(the_word_at_the_top_of_the_stack_leads_to_the_entry),
		cmocka_unit_test(a_chain_that_continues_wins_over_a_search),
		cmocka_unit_test(a_chain_of_one_frame_does_not),
		cmocka_unit_test(a_chain_to_a_word_that_no_call_precedes_is_a_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
