/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of Go's functions: what begins like those of each of its ages, what leaves a stack, and
 * tables that were spoilt. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "make_go.h"
#include "rows_find.h"
#include "unwind/rows.h"

struct made {
	struct make_elf elf;
	struct image image;
	struct unwind_rows *rows;
	int err;
};

static void made_done(struct made *m)
{
	unwind_rows_free(m->rows);
	image_done(&m->image);
	make_elf_done(&m->elf);
}

static void build(struct made *m)
{
	struct why why;

	make_elf_finish(&m->elf);
	m->rows = NULL;
	assert_int_equal(image_init(&m->image, m->elf.file.data, m->elf.file.len, &why), 0);
	m->err = unwind_rows_build(&m->image, &m->rows, &why);
}

#define FRAME_IS_SAVED .fp = FP_AT_CFA, .fp_off = -16
#define ROOT                                                              \
	{                                                                 \
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNDEFINED, .fp = FP_LOST \
	}
#define CUT                                                                 \
	{                                                                   \
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST \
	}
#define PLAIN(off)                                                           \
	{                                                                    \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8 \
	}
#define SAVED(off)                                                                           \
	{                                                                                    \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8, FRAME_IS_SAVED \
	}
#define C_FRAME(off, at)                                                                       \
	{                                                                                      \
		.cfa = CFA_REG, .cfa_reg = 7, .cfa_off = (off), .ra_off = -8, .fp = FP_AT_CFA, \
		.fp_off = (at)                                                                 \
	}
#define SWITCH                                                                               \
	{                                                                                    \
		.cfa = CFA_SWITCH, .cfa_reg = 6, .cfa_off = 16, .ra_off = -8, FRAME_IS_SAVED \
	}
#define NOTED(add, bp)                                                                  \
	{                                                                               \
		.cfa = CFA_GOROUTINE, .cfa_reg = (add), .cfa_off = -8, .cfa_add = 0xc0, \
		.ra_off = -8, .fp_off = (bp)                                            \
	}

/* By %rdx; by the depth in g's stack; by the word at n(%rsp). */
#define KEPT(off)                                                               \
	{                                                                       \
		.cfa = CFA_SWITCH, .cfa_reg = 1, .cfa_off = (off), .ra_off = -8 \
	}
#define CGO(add, g, depth)                                                                         \
	{                                                                                          \
		.cfa = CFA_CGO, .cfa_reg = (add), .cfa_off = (g), .cfa_add = (depth), .ra_off = -8 \
	}
#define DEREF(n, add)                                                                          \
	{                                                                                      \
		.cfa = CFA_DEREF, .cfa_reg = 7, .cfa_off = (n), .cfa_add = (add), .ra_off = -8 \
	}

struct place {
	uint32_t off; /* from the function's start */
	struct unwind_rule rule;
};

struct shape {
	const char *what;
	struct make_go_function function;
	const struct place *places;
	size_t places_len;
};

#define BEFORE UINT32_MAX /* the byte in front of the function */
#define PLACES(...)                            \
	(const struct place[]){ __VA_ARGS__ }, \
		sizeof((const struct place[]){ __VA_ARGS__ }) / sizeof(struct place)

/* Stack deltas: (change * 2, or -change * 2 - 1; bytes) from -1 on. */
static const struct shape shapes[] = {
	{ "as since Go 1.21: push %rbp; mov %rsp,%rbp; sub $16,%rsp; ...; add; pop; ret",
		{ "main.a",
			GO_BYTES("\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x90\x90\x90"
				 "\x48\x83\xc4\x10\x5d\xc3"),
			GO_BYTES("\x02\x01\x10\x07\x20\x08\x1f\x01\x0f\x01"), 0 },
		PLACES({ 0, PLAIN(8) }, { 1, SAVED(16) }, { 7, SAVED(16) }, { 8, SAVED(32) },
			{ 16, SAVED(16) }, { 17, PLAIN(8) }) },
	{ "as before: sub $24,%rsp; mov %rbp,16(%rsp); lea; ...; add; ret",
		{ "main.b",
			GO_BYTES("\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10"
				 "\x90\x48\x83\xc4\x18\xc3"),
			GO_BYTES("\x02\x04\x30\x0f\x2f\x01"), 0 },
		PLACES({ 3, PLAIN(8) }, { 4, PLAIN(32) }, { 8, PLAIN(32) }, { 9, SAVED(32) },
			{ 18, SAVED(32) }, { 19, PLAIN(8) }) },
	{ "a large frame: mov %rbp,0x1000(%rsp)",
		{ "main.c",
			GO_BYTES("\x48\x81\xec\x08\x10\x00\x00\x48\x89\xac\x24\x00\x10\x00\x00"
				 "\x90"),
			GO_BYTES("\x02\x07\x90\x40\x09"), 0 },
		PLACES({ 6, PLAIN(8) }, { 7, PLAIN(0x1010) }, { 14, PLAIN(0x1010) },
			{ 15, SAVED(0x1010) }) },
	{ "no frame but for %rbp: mov %rbp,(%rsp)",
		{ "main.d", GO_BYTES("\x48\x83\xec\x08\x48\x89\x2c\x24\x90"),
			GO_BYTES("\x02\x04\x10\x05"), 0 },
		PLACES({ 4, PLAIN(16) }, { 8, SAVED(16) }) },
	{ "assembly that pushes something else",
		{ "main.e", GO_BYTES("\x50\x90\x58\xc3"), GO_BYTES("\x02\x01\x10\x02\x0f\x01"), 0 },
		PLACES({ 1, PLAIN(16) }, { 2, PLAIN(16) }, { 3, PLAIN(8) }) },
	{ "mov %rbp to a place that is not the frame's top",
		{ "main.f", GO_BYTES("\x48\x83\xec\x18\x48\x89\x6c\x24\x08\x90"),
			GO_BYTES("\x02\x04\x30\x06"), 0 },
		PLACES({ 4, PLAIN(32) }, { 9, PLAIN(32) }) },
	{ "the return address in a register, at fork in a shared memory",
		{ "syscall.g", GO_BYTES("\x41\x5c\x0f\x05\x41\x54\xc3"),
			GO_BYTES("\x02\x02\x0f\x04\x10\x01"), 0 },
		PLACES({ 0, PLAIN(8) }, { 2, PLAIN(0) }, { 6, PLAIN(8) }) },
	{ "a stack pointer above all it was given",
		{ "main.h", GO_BYTES("\x90\x90\x90"), GO_BYTES("\x02\x01\x1f\x02"), 0 },
		PLACES({ 0, PLAIN(8) }, { 1, CUT }) },
	{ "a frame of almost two gigabytes",
		{ "main.i", GO_BYTES("\x90\x90\x90"), GO_BYTES("\x02\x01\xfe\xff\xff\xff\x0f\x02"),
			0 },
		PLACES({ 0, PLAIN(8) }, { 1, CUT }) },
	{ "C: endbr64; push %r12; mov %rdi,%r12; push %rbp; sub $40,%rsp; mov %fs:40,%rax; call",
		{ "_cgo_f",
			GO_BYTES("\xf3\x0f\x1e\xfa\x41\x54\x49\x89\xfc\x55\x48\x83\xec\x28"
				 "\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xe8\x00\x00\x00\x00\x50"),
			NULL, 0, 0 },
		PLACES({ 4, PLAIN(8) }, { 6, PLAIN(16) }, { 9, PLAIN(16) },
			{ 10, C_FRAME(24, -24) }, { 14, C_FRAME(64, -24) },
			{ 29, C_FRAME(64, -24) }) },
	{ "C: test %edi,%edi; je; push %rbx; sub $4096,%rsp; lea 8(%rsp),%rsi; ret",
		{ "_cgo_g",
			GO_BYTES("\x85\xff\x74\x10\x53\x48\x81\xec\x00\x10\x00\x00"
				 "\x48\x8d\x74\x24\x08\xc3"),
			NULL, 0, 0 },
		PLACES({ 2, PLAIN(8) }, { 5, PLAIN(16) }, { 12, PLAIN(0x1010) },
			{ 17, PLAIN(0x1010) }) },
	{ "where a goroutine begins", { "runtime.goexit", GO_BYTES("\x90\xe8"), NULL, 0, 0 },
		PLACES({ 0, ROOT }, { 1, ROOT }) },
	{ "where Go's tracebacks end",
		{ "x.top", GO_BYTES("\x90"), GO_BYTES("\x02\x01"), GOPCLNTAB_TOP_FRAME },
		PLACES({ 0, ROOT }) },
	{ "where they end and stacks do not",
		{ "runtime.sigtramp", GO_BYTES("\x90"), GO_BYTES("\x02\x01"), GOPCLNTAB_TOP_FRAME },
		PLACES({ 0, PLAIN(8) }) },
	{ "the end of a signal handler's frame, and the byte before",
		{ "runtime.sigreturn", GO_BYTES("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05\xcc"),
			GO_BYTES("\x02\x0a"), 0 },
		PLACES({ BEFORE, { .cfa = CFA_SIGNAL } }, { 0, { .cfa = CFA_SIGNAL } }) },
	{ "to the thread's stack for good: mov 0x38(%r14),%rsp",
		{ "runtime.mcall", GO_BYTES("\x90\x49\x8b\x66\x38\x50\x41\xff\xd4\x58"),
			GO_BYTES("\x02\x06\x10\x04"), GOPCLNTAB_SP_WRITE },
		PLACES({ 1, PLAIN(8) }, { 5, ROOT }, { 9, ROOT }) },
	{ "what grew is not known before runtime.systemstack was seen",
		{ "runtime.morestack", GO_BYTES("\x90\x48\x8b\x63\x38\xe8\x00\x00\x00\x00\xc3"),
			GO_BYTES("\x02\x0b"), GOPCLNTAB_SP_WRITE },
		PLACES({ 1, PLAIN(8) }, { 5, CUT }) },
	{ "to the thread's stack and back, without a frame: what was noted",
		{ "runtime.systemstack",
			GO_BYTES("\x48\x89\xdc\xff\xd7\x64\x48\x8b\x04\x25\xf8\xff\xff\xff"
				 "\x48\x8b\x58\x30\x48\x8b\x83\xc0\x00\x00\x00"
				 "\x48\x8b\x60\x38\x48\x8b\x68\x60\xc3"),
			GO_BYTES("\x02\x22"), GOPCLNTAB_SP_WRITE },
		PLACES({ 0, PLAIN(8) }, { 3, NOTED(8, 0x60) }, { 25, NOTED(8, 0x60) },
			{ 29, PLAIN(8) }) },
	{ "what grew, when that was seen",
		{ "runtime.morestack", GO_BYTES("\x90\x48\x8b\x63\x38\xe8\x00\x00\x00\x00\xc3"),
			GO_BYTES("\x02\x0b"), GOPCLNTAB_SP_WRITE },
		PLACES({ 1, PLAIN(8) }, { 5, NOTED(0, 0x60) }, { 9, NOTED(0, 0x60) }) },
	{ "the same with a frame: by frame pointer; g by way of %rcx",
		{ "runtime.systemstack",
			GO_BYTES("\x55\x48\x89\xe5\x48\x89\xdc\xff\xd7\x48\xc7\xc1\xf8\xff\xff\xff"
				 "\x64\x48\x8b\x01\x48\x8b\x58\x30\x48\x8b\x83\xc0\x00\x00\x00"
				 "\x48\x8b\x60\x38\x5d\xc3"),
			GO_BYTES("\x02\x01\x10\x23\x0f\x01"), GOPCLNTAB_SP_WRITE },
		PLACES({ 3, SAVED(16) }, { 7, SWITCH }, { 31, SWITCH }, { 35, SAVED(16) },
			{ 36, PLAIN(8) }) },
	{ "what grew, by way of %rcx",
		{ "runtime.morestack", GO_BYTES("\x90\x48\x8b\x63\x38\xe8\x00\x00\x00\x00\xc3"),
			GO_BYTES("\x02\x0b"), GOPCLNTAB_SP_WRITE },
		PLACES({ 5, NOTED(0, 0) }) },
	{ "C is called from a goroutine, and then from the thread's stack; no frame",
		{ "runtime.asmcgocall",
			GO_BYTES("\x48\x8b\x66\x38\x48\x83\xe4\xf0\x48\x89\x7c\x24\x30\x90"
				 "\x48\x89\x7c\x24\x28\xff\xd0\x48\x89\xf4\xc3"
				 "\x48\x83\xe4\xf0\x48\x89\x54\x24\x28\xff\xd0\x48\x89\xf4\xc3"),
			GO_BYTES("\x02\x29"), GOPCLNTAB_SP_WRITE },
		PLACES({ 0, PLAIN(8) }, { 4, KEPT(8) }, { 18, KEPT(8) }, { 19, CGO(8, 48, 40) },
			{ 21, CGO(8, 48, 40) }, { 24, PLAIN(8) }, { 25, KEPT(8) }, { 29, KEPT(8) },
			{ 34, DEREF(40, 8) }, { 36, DEREF(40, 8) }, { 39, PLAIN(8) }) },
	{ "the same with a frame: push %rbp; mov %rsp,%rbp",
		{ "runtime.asmcgocall_no_g",
			GO_BYTES("\x55\x48\x89\xe5\x48\x8b\x66\x38\x48\x89\x7c\x24\x08"
				 "\x48\x89\x3c\x24\xff\xd0\x48\x89\xf4\x5d\xc3"),
			GO_BYTES("\x02\x01\x10\x17\x0f\x01"), GOPCLNTAB_SP_WRITE },
		PLACES({ 4, SAVED(16) },
			{ 8,
				{ .cfa = CFA_SWITCH,
					.cfa_reg = 1,
					.cfa_off = 16,
					.ra_off = -8,
					FRAME_IS_SAVED } },
			{ 17,
				{ .cfa = CFA_CGO,
					.cfa_reg = 16,
					.cfa_off = 8,
					.ra_off = -8,
					FRAME_IS_SAVED } },
			{ 22, SAVED(16) }) },
	{ "and nowhere is it noted how to come back",
		{ "runtime.asmcgocall", GO_BYTES("\x48\x8b\x66\x38\xff\xd0\x48\x89\xf4\xc3"),
			GO_BYTES("\x02\x0a"), GOPCLNTAB_SP_WRITE },
		PLACES({ 4, KEPT(8) }, { 6, KEPT(8) }, { 9, PLAIN(8) }) },
	{ "an aligned stack, in two places: and $-16,%rsp; ...; mov %r12,%rsp",
		{ "time.now",
			GO_BYTES("\x90\x48\x83\xe4\xf0\xff\xd0\x4c\x89\xe4\xc3"
				 "\x48\x81\xe4\xc0\xff\xff\xff\x90"),
			GO_BYTES("\x02\x13"), GOPCLNTAB_SP_WRITE },
		PLACES({ 0, PLAIN(8) }, { 1, SWITCH }, { 6, SWITCH }, { 10, PLAIN(8) },
			{ 11, SWITCH }, { 18, SWITCH }) },
	{ "the same in a function of which nothing is known",
		{ "main.z", GO_BYTES("\x90\x48\x83\xe4\xf0\xff\xd0\x4c\x89\xe4\xc3"),
			GO_BYTES("\x02\x0b"), 0 },
		PLACES({ 0, PLAIN(8) }, { 5, PLAIN(8) }, { 10, PLAIN(8) }) },
};

static void check_place(
	const struct made *m, const struct shape *s, const struct place *p, uint64_t at)
{
	struct unwind_rule rule =
		rows_find(&m->rows->view, p->off == BEFORE ? at - 1 : at + p->off);

	if (memcmp(&rule, &p->rule, sizeof(rule)) == 0)
		return;
	fail_msg("%s, at %u: cfa=%u reg=%u off=%d add=%d ra=%u%+d fp=%u%+d", s->what, p->off,
		rule.cfa, rule.cfa_reg, rule.cfa_off, rule.cfa_add, rule.ra, rule.ra_off, rule.fp,
		rule.fp_off);
}

static void take_functions(struct make_go_function out[ARRAY_SIZE(shapes)])
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		out[i] = shapes[i].function;
}

static void functions_are_walked_by_what_they_are(void **state)
{
	struct make_go_function functions[ARRAY_SIZE(shapes)];
	_cleanup_(made_done) struct made m;

	(void)state;
	take_functions(functions);
	make_go(&m.elf, functions, ARRAY_SIZE(functions));
	build(&m);
	assert_int_equal(m.err, 0);
	assert_int_equal(m.rows->view.head->stats.fdes, ARRAY_SIZE(shapes));
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		for (size_t k = 0; k < shapes[i].places_len; k++)
			check_place(&m, &shapes[i], &shapes[i].places[k],
				MAKE_ELF_TEXT_OFFSET + make_go_start(functions, i));
}

static void another_machines_go_is_left_to_its_frame_pointers(void **state)
{
	_cleanup_(made_done) struct made m;

	(void)state;
	make_go(&m.elf, &shapes[0].function, 1);
	m.elf.machine = EM_AARCH64;
	build(&m);
	assert_int_equal(m.err, -ENODATA);
}

static char *table_of(struct made *m)
{
	return m->elf.file.data + m->elf.sections[3].sh_offset;
}

/* All functions claim one table of deltas that has a run for every byte: each takes no more of it
 * than it has bytes. */
static void rows_are_no_more_than_bytes(void **state)
{
	static char runs[0x800 * 2];
	struct make_go_function functions[16];
	_cleanup_(made_done) struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(runs); i += 2)
		memcpy(runs + i, i % 4 ? "\x0f\x01" : "\x10\x01", 2);
	runs[0] = 2;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		functions[i] = (struct make_go_function){ "main.f", GO_BYTES("\x90"), runs,
			sizeof(runs), 0 };
	make_go(&m.elf, functions, ARRAY_SIZE(functions));
	build(&m);
	assert_int_equal(m.err, 0);
	assert_int_equal(m.rows->view.head->stats.rows_raw, ARRAY_SIZE(functions) * MAKE_GO_ALIGN);
}

/* Functions of a megabyte each, in a file of some kilobytes, that have one long list of deltas. */
static void functions_of_more_code_than_there_is_are_refused(void **state)
{
	static char runs[0x800 * 2];
	struct make_go_function functions[16] = { { "main.f", GO_BYTES("\x90"), runs, sizeof(runs),
		0 } };
	_cleanup_(made_done) struct made m;
	uint32_t rows, deltas, start;
	char *functab;

	(void)state;
	for (size_t i = 0; i < sizeof(runs); i += 2)
		memcpy(runs + i, i % 4 ? "\x0f\x01" : "\x10\x01", 2);
	runs[0] = 2;
	for (size_t i = 1; i < ARRAY_SIZE(functions); i++)
		functions[i] = (struct make_go_function){ "main.f", GO_BYTES("\x90"), NULL, 0, 0 };
	make_go(&m.elf, functions, ARRAY_SIZE(functions));
	memcpy(&rows, table_of(&m) + MAKE_GO_HEADER - sizeof(uint64_t), sizeof(rows));
	functab = table_of(&m) + rows;
	rows = sizeof(uint32_t) * 2 * (ARRAY_SIZE(functions) + 1);
	memcpy(&deltas, functab + rows + 4 * sizeof(uint32_t), sizeof(deltas));
	for (uint32_t i = 0; i <= ARRAY_SIZE(functions); i++) {
		char *record = functab + rows + (size_t)i * MAKE_GO_RECORD;

		start = i << 20;
		memcpy(functab + (size_t)i * 2 * sizeof(start), &start, sizeof(start));
		if (i == ARRAY_SIZE(functions))
			break;
		memcpy(record, &start, sizeof(start));
		memcpy(record + 4 * sizeof(uint32_t), &deltas, sizeof(deltas));
	}
	build(&m);
	assert_int_equal(m.err, -ENODATA);
}

/* The fifth says that it begins where the third does: then the fourth has no bytes. */
static void functions_that_lie_in_others_are_left_out(void **state)
{
	struct make_go_function functions[12];
	_cleanup_(made_done) struct made m;
	char *records, *rows;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		functions[i] = shapes[0].function;
	make_go(&m.elf, functions, ARRAY_SIZE(functions));
	records = table_of(&m) + m.elf.sections[3].sh_size - ARRAY_SIZE(functions) * MAKE_GO_RECORD;
	rows = records - (ARRAY_SIZE(functions) + 1) * 8;
	memcpy(rows + 4 * 8, rows + 2 * 8, 4);
	memcpy(records + 4 * MAKE_GO_RECORD, records + 2 * MAKE_GO_RECORD, 4);
	build(&m);
	assert_int_equal(m.err, 0);
	assert_int_equal(m.rows->view.head->stats.fdes, ARRAY_SIZE(functions) - 2);
}

static void spoilt_tables_give_some_rows_or_none(void **state)
{
	struct make_go_function functions[ARRAY_SIZE(shapes)];
	int some = 0;

	(void)state;
	srand(7);
	take_functions(functions);
	for (int round = 0; round < 6000; round++) {
		_cleanup_(made_done) struct made m;
		size_t size;

		make_go(&m.elf, functions, ARRAY_SIZE(functions));
		size = m.elf.sections[3].sh_size;
		for (int i = 0; i < 1 + round % 9; i++)
			table_of(&m)[(size_t)rand() % size] = (char)(rand() % 3 ? rand() : 0xff);
		/* code too: what is looked for in it may be anywhere */
		for (int i = 0; i < round % 5; i++)
			m.elf.file.data[MAKE_ELF_TEXT_OFFSET + (size_t)rand() % 0x600] =
				(char)rand();
		build(&m);
		some += m.err == 0;
		if (m.err != 0)
			assert_int_equal(m.err, -ENODATA);
		else
			assert_true(m.rows->view.head->stats.rows_raw <= MAKE_ELF_TEXT_SIZE);
	}
	print_message("%d of 6000 had rows\n", some);
	assert_true(some > 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_walked_by_what_they_are),
		cmocka_unit_test(another_machines_go_is_left_to_its_frame_pointers),
		cmocka_unit_test(rows_are_no_more_than_bytes),
		cmocka_unit_test(functions_of_more_code_than_there_is_are_refused),
		cmocka_unit_test(functions_that_lie_in_others_are_left_out),
		cmocka_unit_test(spoilt_tables_give_some_rows_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
