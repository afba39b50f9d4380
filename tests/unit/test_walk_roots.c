/* SPDX-License-Identifier: Apache-2.0 */
/* bpf/frame.bpf.h over a made file and stack: where stacks that programs make themselves end, and
 * how the walk gets from one stack to another. On x86-64. */
#undef __TARGET_ARCH_arm64
#ifndef __aarch64__
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "bpf/shim.h"
#include "bpf/unwind.bpf.h"

#define TEXT 0x401000ULL
#define TEXT_BYTES 0x1000
#define STACK 0x7ffc0000ULL
#define STACK_WORDS 512
#define AT(i) (STACK + 8ULL * (i))

/* Functions of the file, 256 bytes each. Those from UNCOVERED on have no rule. */
enum function { ENTRY, PLAIN, FRAMED, SWITCHES, UNCOVERED, OTHER_UNCOVERED, FUNCTIONS };

#define CODE(function, offset) (TEXT + 0x100ULL * (function) + (offset))
#define RBP 6
#define RSP 7

struct scratch {
	struct unwind_regs regs;
	struct unwind_window window;
	u64 searched, how, code, left_how, user_below_leaf, root[STACK_ROOT_FRAMES];
	struct unwind_place stepped;
	struct unwind_way way;
	struct unwind_way taken;
	u32 landing;
	u32 end, walked, late, unruled;
	u64 anchor;
	struct {
		u64 start, file_offset;
		u32 object, kind, table;
	} at;
	struct {
		struct event_stack head;
		u64 frames[STACK_USER_FRAMES_MAX];
	} user;
	struct unwind_rule rules[FUNCTIONS];
	u8 text[TEXT_BYTES];
	u64 stack[STACK_WORDS];
};

static struct scratch *scratch_of(u64 walk)
{
	return (struct scratch *)(uintptr_t)walk;
}

static u64 walk_of(const struct scratch *s)
{
	return (u64)(uintptr_t)s;
}

static int walk_read(u64 walk, void *dst, u32 size, u64 addr)
{
	const struct scratch *s = scratch_of(walk);

	if (addr >= TEXT && addr + size <= TEXT + sizeof(s->text))
		memcpy(dst, s->text + (addr - TEXT), size);
	else if (addr >= STACK && addr + size <= STACK + sizeof(s->stack))
		memcpy(dst, (const u8 *)s->stack + (addr - STACK), size);
	else
		return -1;
	return 0;
}

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	return walk_read(walk_of(memory), dst, size, addr);
}

static u32 mapping_find(struct scratch *s, u64 pc)
{
	if (pc < TEXT || pc >= TEXT + TEXT_BYTES)
		return END_NO_MAPPING;
	s->at.start = TEXT;
	s->at.object = 1;
	s->at.kind = FRAME_FILE;
	s->at.table = TABLE_READY;
	return END_NONE;
}

static u32 rule_find(struct scratch *s, u64 offset, struct unwind_rule **rule)
{
	*rule = &s->rules[offset / 0x100 % FUNCTIONS];
	return END_NONE;
}

static u64 start_stack;

#define start_stack_of(s) ((void)(s), start_stack)
#define thread_base_of(s) AT(STACK_WORDS)
#define walk_unprobe(s) ((void)(s))
#define walk_late(s) ((void)(s), 0)

#define walk_language(s) ((void)(s))
#define walk_generated(s, pc) ((void)(pc))
#define walk_generated_step(s) END_UNSUPPORTED
#include "bpf/frame.bpf.h"

/* Interrupted in `function`, at sp AT(0). The words of the stack lead nowhere. */
static void start_in(struct scratch *s, enum function function)
{
	*s = (struct scratch){ .regs = { .pc = CODE(function, 0x40), .sp = AT(0), .fp = AT(20) } };
	start_stack = 0;
	s->regs.exact = 1;
	s->window.memory = s;
	memset(s->text, 0x90, sizeof(s->text));
	for (u64 i = 0; i < STACK_WORDS; i++)
		s->stack[i] = 0x5000 + i;
	s->rules[ENTRY] = (struct unwind_rule){ .cfa = CFA_REG, .ra = RA_UNDEFINED };
	s->rules[PLAIN] =
		(struct unwind_rule){ .cfa = CFA_REG, .cfa_reg = RSP, .cfa_off = 16, .ra_off = -8 };
	s->rules[FRAMED] = s->rules[SWITCHES] = (struct unwind_rule){ .cfa = CFA_REG,
		.cfa_reg = RBP,
		.cfa_off = 16,
		.ra_off = -8,
		.fp = FP_AT_CFA,
		.fp_off = -16 };
}

/* A call at the end of which is this address. */
static void put_call(struct scratch *s, u64 after)
{
	memcpy(s->text + (after - TEXT) - 5, "\xe8\x00\x00\x00\x00", 5);
}

static void assert_walk(struct scratch *s, u32 end, const u64 *callers, u32 callers_len)
{
	walk_frames(s);
	if (s->end != end || s->user.head.frames_len != callers_len + 1)
		fail_msg("%u frames, end %u", s->user.head.frames_len, s->end);
	for (u32 i = 0; i < callers_len; i++)
		assert_int_equal(s->user.frames[i + 1] & FRAME_OFFSET_MASK, callers[i] - 1 - TEXT);
}

#define CALLERS(...) \
	(const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64)

/* ---- the top of a fiber's stack ---------------------------------------------------------------
 */

/* The return address that no call pushed is where the frame begins. */
#define BEGINS(pc) ((pc) + 1)

static void a_last_call_that_no_call_returned_to_is_a_root(void **state)
{
	static const struct {
		const char *code;
		u32 end;
	} rows[] = { { "\x48\x31\xff\xe8\x12\x34\x56\x78\xf4", END_ROOT },
		{ "\xe8\x12\x34\x56\x78\x0f\x0b\x90\x90", END_ROOT },
		{ "\x48\x31\xff\xe8\x12\x34\x56\x78\x90", END_FP_CHAIN },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90\xf4", END_FP_CHAIN } };
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_in(&s, PLAIN);
		s.stack[1] = CODE(UNCOVERED, 0x20);
		s.regs.fp = 0;
		memcpy(s.text + (CODE(UNCOVERED, 0x20) - TEXT), rows[i].code, 9);
		assert_walk(&s, rows[i].end, CALLERS(BEGINS(CODE(UNCOVERED, 0x20))));
	}
}

/* As glibc's __start_context, in front of which there is padding. */
static void a_place_that_no_call_returned_to_has_its_own_rule(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.rules[OTHER_UNCOVERED].cfa = CFA_REG;
	s.rules[OTHER_UNCOVERED].ra = RA_UNDEFINED;
	s.stack[1] = CODE(OTHER_UNCOVERED, 0);
	assert_walk(&s, END_ROOT, CALLERS(BEGINS(CODE(OTHER_UNCOVERED, 0))));
}

/* push $1f; jmp function; 1: ret */
static void what_was_pushed_for_a_jump_is_left_by_its_way_out(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.stack[1] = CODE(UNCOVERED, 0x20);
	s.text[CODE(UNCOVERED, 0x20) - TEXT] = 0xc3;
	s.stack[2] = CODE(ENTRY, 0x20);
	put_call(&s, CODE(ENTRY, 0x20));
	assert_walk(&s, END_ROOT, CALLERS(BEGINS(CODE(UNCOVERED, 0x20)), CODE(ENTRY, 0x20)));
	assert_int_equal(s.user.frames[2] & FRAME_HOW_MASK, 0);
}

static void one_that_a_call_pushed_is_none(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.stack[1] = CODE(UNCOVERED, 0x20);
	put_call(&s, CODE(UNCOVERED, 0x20));
	s.regs.fp = 0;
	assert_walk(&s, END_FP_CHAIN, CALLERS(CODE(UNCOVERED, 0x20)));
}

static void interrupted_assembly_is_none(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, UNCOVERED);
	s.regs.fp = 0;
	assert_walk(&s, END_FP_CHAIN, NULL, 0);
}

/* The frame pointer of assembly is followed, but what it leads to proves nothing. */
static void a_return_address_that_was_guessed_is_none(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, UNCOVERED);
	s.stack[20] = 0;
	s.stack[21] = CODE(OTHER_UNCOVERED, 0x20);
	assert_walk(&s, END_FP_CHAIN, CALLERS(CODE(OTHER_UNCOVERED, 0x20)));
}

#define BYTES(string) string, sizeof(string) - 1

#define FIRST_RULE                                                           \
	{                                                                    \
		.cfa = CFA_REG, .cfa_reg = RSP, .cfa_off = 8, .ra_off = -8 \
	}

/* The function before it has a rule that leads nowhere, or to a zero: at its end there is no call.
 * So the frame begins there, as where a library puts a function on top of a stack that it made. */
static void a_function_on_top_of_a_made_stack_is_the_root_and_its_neighbour_is_not(void **state)
{
	static const struct {
		const char *before;
		size_t before_len;
		struct unwind_rule rule;
		u64 above;
		u32 end, frames;
	} rows[] = { { BYTES("\xc3"), FIRST_RULE, 0, END_ROOT, 1 },
		{ BYTES("\x90"), { .cfa = CFA_REG, .ra = RA_UNDEFINED }, 0x5000, END_ROOT, 1 },
		/* a call of a function that lies before, and a nop */
		{ BYTES("\xe8\x00\x00\xff\xff\x90"), FIRST_RULE, 0, END_ROOT, 1 },
		{ BYTES("\xc3"), FIRST_RULE, CODE(ENTRY, 0x20), END_ROOT, 2 } };
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_in(&s, PLAIN);
		s.rules[SWITCHES] = rows[i].rule;
		s.stack[1] = CODE(SWITCHES, 0);
		s.stack[2] = rows[i].above;
		put_call(&s, CODE(ENTRY, 0x20));
		memcpy(s.text + (CODE(SWITCHES, 0) - TEXT) - rows[i].before_len, rows[i].before,
			rows[i].before_len);
		assert_walk(&s, rows[i].end,
			(const u64[]){ BEGINS(CODE(SWITCHES, 0)), CODE(ENTRY, 0x20) },
			rows[i].frames);
	}
	assert_int_equal(s.user.frames[2] & FRAME_HOW_MASK, FRAME_BY_GUESS);
}

static void what_lies_in_a_function_does_not_begin_there(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.stack[1] = CODE(PLAIN, 0x20);
	s.stack[3] = 0x5000;
	assert_walk(&s, END_NO_MAPPING, CALLERS(CODE(PLAIN, 0x20)));
}

/* The byte before it is the last of the text: no frame can begin there. It is taken back once. */
static void what_lies_behind_the_text_does_not_begin_there(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.stack[1] = CODE(PLAIN, 0x20);
	put_call(&s, CODE(PLAIN, 0x20));
	s.stack[3] = TEXT + TEXT_BYTES;
	assert_walk(&s, END_NO_MAPPING, CALLERS(CODE(PLAIN, 0x20)));
}

/* A system call that never returns ends its function: what follows is another's. */
static void a_leaf_in_a_system_call_has_the_rule_of_the_call(void **state)
{
	static struct scratch s;

	(void)state;
	for (int in_syscall = 0; in_syscall < 2; in_syscall++) {
		start_in(&s, PLAIN);
		s.regs.pc = CODE(PLAIN, 0);
		s.regs.gpr[0] = in_syscall ? SYSCALL_ENTERED : 0;
		assert_walk(&s, in_syscall ? END_ROOT : END_NO_MAPPING, NULL, 0);
		assert_int_equal(s.user.frames[0] & FRAME_OFFSET_MASK,
			CODE(PLAIN, 0) - in_syscall - TEXT);
	}
}

static void a_zero_return_address_below_a_call_is_a_root(void **state)
{
	static struct scratch s;

	(void)state;
	start_in(&s, PLAIN);
	s.stack[1] = CODE(PLAIN, 0x20);
	s.stack[3] = 0;
	assert_walk(&s, END_CFA, CALLERS(CODE(PLAIN, 0x20)));
	start_in(&s, PLAIN);
	s.stack[1] = CODE(PLAIN, 0x20);
	s.stack[3] = 0;
	put_call(&s, CODE(PLAIN, 0x20));
	assert_walk(&s, END_ROOT, CALLERS(CODE(PLAIN, 0x20)));
	start_in(&s, PLAIN);
	s.stack[1] = 0;
	assert_walk(&s, END_NO_MAPPING, NULL, 0);
}

/* Where a rule is wrong, any zero of the stack may be in the place of the return address. */
static void a_zero_below_the_top_of_the_stack_is_none(void **state)
{
	static const struct {
		u64 top, fp;
		u32 end;
	} rows[] = { { AT(18), 0, END_ROOT }, { AT(18), AT(20), END_ROOT }, { AT(19), 0, END_CFA },
		{ AT(19), AT(20), END_CFA }, { AT(2), 0, END_ROOT },
		{ AT(2) + (64U << 20), 0, END_CFA }, { AT(3) + (64U << 20), 0, END_ROOT },
		{ AT(0), 0, END_ROOT } };
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_in(&s, PLAIN);
		start_stack = rows[i].top;
		s.regs.fp = rows[i].fp;
		put_call(&s, CODE(PLAIN, 0x20));
		s.stack[1] = CODE(PLAIN, 0x20);
		s.stack[3] = 0;
		assert_walk(&s, rows[i].end, CALLERS(CODE(PLAIN, 0x20)));
	}
}

/* ---- the return of a signal handler, interrupted -----------------------------------------------
 */

/* mov $15,%rax; syscall: before each, and in the kernel, which puts -ENOSYS into %rax. */
static const struct {
	u32 offset;
	u64 rax;
	bool is_return;
} returns[] = { { 0, 1, true }, { 7, 15, true }, { 9, (u64)-38, true }, { 7, 14, false },
	{ 9, 15, false }, { 9, 0x5000, false } };

static void an_interrupted_return_of_a_signal_goes_on_where_the_signal_came(void **state)
{
	enum { GREGS = ARCH_SIGNAL_REGS_AT / 8, SAVED_SP = GREGS + 15, SAVED_PC = GREGS + 16 };
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(returns); i++) {
		start_in(&s, UNCOVERED);
		memcpy(s.text + (CODE(UNCOVERED, 0) - TEXT), "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
			9);
		s.regs.pc = CODE(UNCOVERED, returns[i].offset);
		s.regs.gpr[0] = returns[i].rax;
		s.regs.fp = 0;
		s.stack[SAVED_SP] = AT(100);
		s.stack[SAVED_PC] = CODE(PLAIN, 0x21);
		s.stack[101] = CODE(ENTRY, 0x21);
		walk_frames(&s);
		assert_int_equal(s.end, returns[i].is_return ? END_ROOT : END_FP_CHAIN);
		if (returns[i].is_return)
			assert_int_equal(
				s.user.frames[1] & FRAME_OFFSET_MASK, CODE(PLAIN, 0x21) - TEXT);
	}
}

/* ---- from one stack to another ----------------------------------------------------------------
 */

static const struct {
	const char *what, *code;
	u32 len, at; /* from pc down */
	bool leaves;
} loads[] = {
	{ "mov %rax,%rsp; call", "\x48\x89\xc4", 3, 5, true },
	{ "mov %r10,%rsp, some instructions before", "\x4c\x89\xd4", 3, LEFT_STACK_BYTES, true },
	{ "mov %r13,%rsp", "\x4c\x89\xec", 3, 30, true },
	{ "mov %rbp,%rsp, as each frame ends", "\x48\x89\xec", 3, 5, false },
	{ "mov %rsp,%rbp, as each frame begins", "\x48\x89\xe5", 3, 5, false },
	{ "mov %rax,%rbx", "\x48\x89\xc3", 3, 5, false },
	{ "too far away", "\x48\x89\xc4", 3, LEFT_STACK_BYTES + 1, false },
};

/* The caller's stack is below the one in use. */
static void a_function_that_loads_the_stack_pointer_may_have_left_its_stack(void **state)
{
	static struct scratch s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		start_in(&s, PLAIN);
		s.regs.sp = AT(300);
		s.stack[301] = CODE(SWITCHES, 0xc0);
		memcpy(s.text + (CODE(SWITCHES, 0xc0) - TEXT) - loads[i].at, loads[i].code,
			loads[i].len);
		s.stack[20] = 0;
		s.stack[21] = CODE(ENTRY, 0x20);
		walk_frames(&s);
		if (s.end != (loads[i].leaves ? END_ROOT : END_CFA) ||
			s.user.head.frames_len != 2U + loads[i].leaves)
			fail_msg("%s: %u frames, end %u", loads[i].what, s.user.head.frames_len,
				s.end);
	}
}

/* Its frame holds the frame pointer, which code that has none needs not save. */
static void a_goroutine_gives_its_frame_pointer_back(void **state)
{
	enum { G = 100, CURG = 200, CURG_M = 300, BP = 0x60 };
	static struct scratch s;

	(void)state;
	for (int has_bp = 0; has_bp < 2; has_bp++) {
		start_in(&s, SWITCHES);
		s.rules[SWITCHES] = (struct unwind_rule){ .cfa = CFA_GOROUTINE,
			.cfa_off = -8,
			.cfa_add = 0xb8,
			.ra_off = -8,
			.fp_off = has_bp ? BP : 0 };
		s.regs.fp = 0;
		s.stack[STACK_WORDS - 1] = AT(G);
		s.stack[G + GO_G_M / 8] = AT(CURG_M);
		s.stack[CURG_M + 0xb8 / 8] = AT(CURG);
		s.stack[CURG + GO_G_SP / 8] = AT(40);
		s.stack[CURG + GO_G_SP / 8 + 1] = CODE(FRAMED, 0x20);
		s.stack[CURG + BP / 8] = AT(50);
		s.stack[50] = 0;
		s.stack[51] = CODE(ENTRY, 0x20);
		if (has_bp)
			assert_walk(&s, END_ROOT, CALLERS(CODE(FRAMED, 0x20), CODE(ENTRY, 0x20)));
		else
			assert_walk(&s, END_CFA, CALLERS(CODE(FRAMED, 0x20)));
	}
}

/* Of 512 words the last 400 are the thread's own stack; C was called there. The frame pointer leads
 * to where the goroutine's stack was once. */
static void c_leads_to_the_goroutine_by_its_depth(void **state)
{
	enum { G = 100, END = 90, DEPTH = 50, THREAD = 200 };
	static struct scratch s;

	(void)state;
	for (int framed = 0; framed < 2; framed++) {
		u64 top = END - DEPTH;

		start_in(&s, PLAIN);
		s.rules[SWITCHES] = (struct unwind_rule){
			.cfa = CFA_CGO, .cfa_reg = framed ? 16 : 8, .cfa_off = 8, .ra_off = -8
		};
		s.regs.sp = AT(THREAD);
		s.stack[THREAD + 1] = CODE(SWITCHES, 0x21);
		s.stack[THREAD + 2] = 8 * DEPTH;
		s.stack[THREAD + 3] = AT(G);
		s.stack[G + GO_G_STACK_HI / 8] = AT(END);
		s.stack[top] = framed ? AT(70) : CODE(FRAMED, 0x21);
		if (framed)
			s.stack[top + 1] = CODE(FRAMED, 0x21);
		s.regs.fp = framed ? AT(60) : AT(70);
		s.stack[70] = 0;
		s.stack[71] = CODE(ENTRY, 0x21);
		assert_walk(&s, END_ROOT,
			CALLERS(CODE(SWITCHES, 0x21), CODE(FRAMED, 0x21), CODE(ENTRY, 0x21)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_last_call_that_no_call_returned_to_is_a_root),
		cmocka_unit_test(a_place_that_no_call_returned_to_has_its_own_rule),
		cmocka_unit_test(what_was_pushed_for_a_jump_is_left_by_its_way_out),
		cmocka_unit_test(one_that_a_call_pushed_is_none),
		cmocka_unit_test(interrupted_assembly_is_none),
		cmocka_unit_test(a_return_address_that_was_guessed_is_none),
		cmocka_unit_test(
			a_function_on_top_of_a_made_stack_is_the_root_and_its_neighbour_is_not),
		cmocka_unit_test(what_lies_in_a_function_does_not_begin_there),
		cmocka_unit_test(what_lies_behind_the_text_does_not_begin_there),
		cmocka_unit_test(a_leaf_in_a_system_call_has_the_rule_of_the_call),
		cmocka_unit_test(a_zero_return_address_below_a_call_is_a_root),
		cmocka_unit_test(a_zero_below_the_top_of_the_stack_is_none),
		cmocka_unit_test(an_interrupted_return_of_a_signal_goes_on_where_the_signal_came),
		cmocka_unit_test(a_function_that_loads_the_stack_pointer_may_have_left_its_stack),
		cmocka_unit_test(a_goroutine_gives_its_frame_pointer_back),
		cmocka_unit_test(c_leads_to_the_goroutine_by_its_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 0;
}
#endif
