/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and kinds of instructions, as objdump prints them, and any bytes. */
#include "unit.h"

#include <elf.h>
#include <stdlib.h>

#include "base/own.h"
#include "elf/flow.h"

#define AT 0x1000

static const struct {
	const char *what;
	const char *bytes;
	uint8_t len;
	enum flow_kind kind;
	uint64_t target; /* 0: none */
} x86[] = {
	{ "ret", "\xc3", 1, FLOW_END, 0 },
	{ "repz ret", "\xf3\xc3", 2, FLOW_END, 0 },
	{ "ret 16", "\xc2\x10\x00", 3, FLOW_END, 0 },
	{ "ud2", "\x0f\x0b", 2, FLOW_END, 0 },
	{ "hlt", "\xf4", 1, FLOW_END, 0 },
	{ "call", "\xe8\xfb\x00\x00\x00", 5, FLOW_CALL, 0x1100 },
	{ "call back", "\xe8\xfb\xff\xff\xff", 5, FLOW_CALL, 0x1000 },
	{ "call *8(%rax)", "\xff\x50\x08", 3, FLOW_CALL, 0 },
	{ "jmp short", "\xeb\x0e", 2, FLOW_JUMP, 0x1010 },
	{ "jmp near", "\xe9\xfb\x00\x00\x00", 5, FLOW_JUMP, 0x1100 },
	{ "notrack jmp *%rax", "\x3e\xff\xe0", 3, FLOW_INDIRECT, 0 },
	{ "jmp *GOT(%rip)", "\xff\x25\x00\x00\x00\x00", 6, FLOW_INDIRECT, 0 },
	{ "jne short", "\x75\xfe", 2, FLOW_BRANCH, 0x1000 },
	{ "jne near", "\x0f\x85\xfa\x00\x00\x00", 6, FLOW_BRANCH, 0x1100 },
	{ "jrcxz", "\xe3\x0e", 2, FLOW_BRANCH, 0x1010 },
	{ "nop", "\x90", 1, FLOW_PADDING, 0 },
	{ "int3", "\xcc", 1, FLOW_PADDING, 0 },
	{ "xchg %ax,%ax", "\x66\x90", 2, FLOW_PADDING, 0 },
	{ "cs nopw", "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 11, FLOW_PADDING, 0 },
	{ "endbr64", "\xf3\x0f\x1e\xfa", 4, FLOW_NEXT, 0 },
	{ "push %rbp", "\x55", 1, FLOW_NEXT, 0 },
	{ "mov $imm64", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, FLOW_NEXT, 0 },
	{ "mov $imm32", "\xb8\x01\x02\x03\x04", 5, FLOW_NEXT, 0 },
	{ "mov $imm16", "\x66\xb8\x01\x02", 4, FLOW_NEXT, 0 },
	{ "movw $imm16", "\x66\xc7\x04\x24\x01\x00", 6, FLOW_NEXT, 0 },
	{ "sib without base", "\x8b\x04\xc5\x00\x00\x00\x00", 7, FLOW_NEXT, 0 },
	{ "rip-relative", "\x48\x8d\x05\x00\x00\x00\x00", 7, FLOW_NEXT, 0 },
	{ "testb $imm8", "\xf6\xc2\x01", 3, FLOW_NEXT, 0 },
	{ "not", "\xf6\xd2", 2, FLOW_NEXT, 0 },
	{ "testl $imm32", "\xf7\xc2\x01\x00\x00\x00", 6, FLOW_NEXT, 0 },
	{ "movabs moffs", "\xa1\x01\x02\x03\x04\x05\x06\x07\x08", 9, FLOW_NEXT, 0 },
	{ "enter", "\xc8\x10\x00\x00", 4, FLOW_NEXT, 0 },
	{ "bswap", "\x0f\xc8", 2, FLOW_NEXT, 0 },
	{ "pshufd", "\x66\x0f\x70\xc0\x1b", 5, FLOW_NEXT, 0 },
	{ "pshufb", "\x66\x0f\x38\x00\xc1", 5, FLOW_NEXT, 0 },
	{ "palignr", "\x66\x0f\x3a\x0f\xc1\x08", 6, FLOW_NEXT, 0 },
	{ "vzeroupper", "\xc5\xf8\x77", 3, FLOW_NEXT, 0 },
	{ "vpshufd", "\xc5\xf9\x70\xc0\x1b", 5, FLOW_NEXT, 0 },
	{ "vpermq", "\xc4\xe3\xfd\x00\xc0\xd8", 6, FLOW_NEXT, 0 },
	{ "vpmulhrsw", "\xc4\xe2\x79\x0b\xc1", 5, FLOW_NEXT, 0 },
	{ "vpternlogd", "\x62\xf3\x7d\x48\x25\xc1\x96", 7, FLOW_NEXT, 0 },
	{ "vmovdqu64 disp8", "\x62\xf1\xfe\x48\x6f\x46\x01", 7, FLOW_NEXT, 0 },
	{ "vpcmov, XOP", "\x8f\xe8\x78\xa2\xc1\x20", 6, FLOW_NEXT, 0 },
	{ "pop (%rax)", "\x8f\x00", 2, FLOW_NEXT, 0 },
};

static void lengths_and_kinds_are_objdumps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(x86); i++) {
		struct cursor c = cursor_init(x86[i].bytes, x86[i].len), cut = c;
		struct flow flow = { 0 };

		cut.end--;
		print_message("%s\n", x86[i].what);
		assert_true(flow_read(EM_X86_64, &c, AT, &flow));
		assert_int_equal(flow.length, x86[i].len);
		assert_int_equal(cursor_left(&c), 0);
		assert_int_equal(flow.kind, x86[i].kind);
		assert_int_equal(flow.direct, x86[i].target != 0);
		assert_int_equal(flow.target, x86[i].target);
		assert_false(flow_read(EM_X86_64, &cut, AT, &flow));
	}
}

static const struct {
	uint32_t word;
	enum flow_kind kind;
	uint64_t target;
} arm64[] = {
	{ 0xd65f03c0, FLOW_END, 0 },         /* ret */
	{ 0xd65f0bff, FLOW_END, 0 },         /* retaa */
	{ 0xd61f0220, FLOW_INDIRECT, 0 },    /* br x17 */
	{ 0xd63f0000, FLOW_CALL, 0 },        /* blr x0 */
	{ 0x94000040, FLOW_CALL, 0x1100 },   /* bl */
	{ 0x97ffffff, FLOW_CALL, 0xffc },    /* bl */
	{ 0x14000004, FLOW_JUMP, 0x1010 },   /* b */
	{ 0x54000080, FLOW_BRANCH, 0x1010 }, /* b.eq */
	{ 0xb4ffffe0, FLOW_BRANCH, 0xffc },  /* cbz */
	{ 0x37000080, FLOW_BRANCH, 0x1010 }, /* tbnz */
	{ 0xd4207d00, FLOW_END, 0 },         /* brk #1000 */
	{ 0xd503201f, FLOW_PADDING, 0 },     /* nop */
	{ 0xd503245f, FLOW_NEXT, 0 },        /* bti c */
	{ 0xa9bf7bfd, FLOW_NEXT, 0 },        /* stp x29, x30, [sp, #-16]! */
};

static void arm64_words_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(arm64); i++) {
		struct cursor c = cursor_init(&arm64[i].word, sizeof(arm64[i].word));
		struct flow flow = { 0 };

		print_message("%08x\n", arm64[i].word);
		assert_true(flow_read(EM_AARCH64, &c, AT, &flow));
		assert_int_equal(flow.length, 4);
		assert_int_equal(flow.kind, arm64[i].kind);
		assert_int_equal(flow.direct, arm64[i].target != 0);
		assert_int_equal(flow.target, arm64[i].target);
	}
	assert_false(flow_knows(EM_RISCV));
}

static void any_bytes_are_read_within_their_bounds(void **state)
{
	size_t reads = 0;

	(void)state;
	srand(7);
	for (int round = 0; round < 100000; round++) {
		uint8_t bytes[16];
		size_t len = (size_t)rand() % sizeof(bytes);
		struct cursor c = cursor_init(bytes, len);
		struct flow flow;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)rand();
		if (!flow_read(round % 2 ? EM_X86_64 : EM_AARCH64, &c, AT, &flow))
			continue;
		reads++;
		assert_in_range(flow.length, 1, len);
		assert_int_equal(cursor_offset(&c), flow.length);
	}
	assert_true(reads > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_and_kinds_are_objdumps),
		cmocka_unit_test(arm64_words_are_known),
		cmocka_unit_test(any_bytes_are_read_within_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
