/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end: by FDEs, symbols, calls and instructions, on files made for it. */
#include "unit.h"

#include <stdio.h>

#include "cfi_bytes.h"
#include "elf_sym_check.h"
#include "sym/elf_functions.h"

struct code {
	uint64_t at;
	const char *bytes;
	size_t len;
};

#define CODE(at, bytes)                      \
	{                                    \
		at, bytes, sizeof(bytes) - 1 \
	}
#define NOP4 "\x0f\x1f\x40\x00"

struct division {
	const char *what;
	struct code code[5];
	struct {
		uint64_t at, size;
	} fdes[3];
	struct symbol symbols[4];
	struct {
		uint64_t at;
		const char *name; /* "+" and START, or a name, or "-" */
	} expected[8];
};

/* The text is zeros, which are padding. */
static const struct division divisions[] = {
	{ "an FDE ends a symbol without a size, and begins what has no name",
		{ CODE(0x10, "\x31\xc0\x90\x90\xc3\x31\xc0\xc3") }, { { 0x10, 5 }, { 0x15, 3 } },
		{ { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x10, "f" }, { 0x14, "f" }, { 0x15, "+15" }, { 0x17, "+15" }, { 0x18, "-" } } },
	{ "an FDE that begins a byte before a symbol without a size is a trampoline's",
		{ CODE(0x10, "\x90\x31\xc0\x0f\x05") }, { { 0x10, 5 } },
		{ { "f", FUNC(LOCAL), TEXT, 0x11, 0 } },
		{ { 0xf, "-" }, { 0x10, "f" }, { 0x14, "f" }, { 0x15, "-" } } },
	{ "an FDE does not shorten a symbol with a size", { CODE(0x10, "\x31\xc0\xc3") },
		{ { 0x10, 4 }, { 0x14, 8 } }, { { "f", FUNC(GLOBAL), TEXT, 0x10, 8 } },
		{ { 0x13, "f" }, { 0x17, "f" }, { 0x18, "+14" }, { 0x1b, "+14" }, { 0x1c, "-" } } },
	{ "a return ends a symbol without a size, padding or not",
		{ CODE(0x10, "\x31\xc0\xc3\x31\xc9\xc3" NOP4 "\x31\xd2\xc3") }, { { 0 } },
		{ { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x12, "f" }, { 0x13, "+13" }, { 0x15, "+13" }, { 0x16, "-" }, { 0x19, "-" },
			{ 0x1a, "+1a" }, { 0x1c, "+1a" }, { 0x1d, "-" } } },
	{ "a return that a branch leads over does not",
		{ CODE(0x10, "\x75\x05\xc3" NOP4 "\x31\xc0\xc3\x31\xc9") }, { { 0 } },
		{ { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x12, "f" }, { 0x17, "f" }, { 0x19, "f" }, { 0x1a, "+1a" } } },
	{ "a jump to another function ends one, also a jump to the next",
		{ CODE(0x10, "\xeb\x0e"), CODE(0x20, "\x31\xc0\xeb\xec\x31\xc9\xc3") }, { { 0 } },
		{ { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x11, "f" }, { 0x20, "+20" }, { 0x23, "+20" }, { 0x24, "+24" },
			{ 0x27, "-" } } },
	{ "a call begins a function, where no return is before it",
		{ CODE(0x10, "\x31\xc0\x0f\x05\x31\xc9\xc3"),
			CODE(0x30, "\xe8\xdf\xff\xff\xff\xc3") },
		{ { 0x30, 6 } }, { { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x13, "f" }, { 0x14, "+14" }, { 0x16, "+14" }, { 0x17, "-" },
			{ 0x31, "+30" } } },
	{ "a call into padding, or of the next instruction, begins none",
		{ CODE(0x10, "\x31\xc0\xe8\x00\x00\x00\x00\x59\xc3" NOP4 "\x31\xc0\xc3"),
			CODE(0x30, "\xe8\xe4\xff\xff\xff\xc3") },
		{ { 0x30, 6 } }, { { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x17, "f" }, { 0x18, "f" }, { 0x19, "-" }, { 0x1d, "+1d" } } },
	{ "a call before padding that nothing jumps over does not return",
		{ CODE(0x13,
			  "\x31\xc0\xe8\xe6\x00\x00\x00"
			  "\x66\x0f\x1f\x44\x00\x00"
			  "\x31\xc9\xc3"),
			CODE(0x100, "\xc3") },
		{ { 0 } }, { { "f", FUNC(GLOBAL), TEXT, 0x13, 0 } },
		{ { 0x19, "f" }, { 0x1a, "-" }, { 0x20, "+20" }, { 0x22, "+20" },
			{ 0x100, "+100" } } },
	{ "a call of a function that begins with a trap does not return, padding or not",
		{ CODE(0x10, "\x31\xc0\xe8\xe9\0\0\0\x31\xc9\xc3"), CODE(0x100, "\xf4") },
		{ { 0 } }, { { "f", FUNC(GLOBAL), TEXT, 0x10, 0 } },
		{ { 0x16, "f" }, { 0x17, "+17" }, { 0x19, "+17" }, { 0x100, "+100" } } },
	{ "a signal trampoline has the padding before it, where callers are looked up",
		{ CODE(0x10, "\x31\xc0\xc3\x90\x48\xc7\xc0\x0f\0\0\0\x0f\x05"),
			CODE(0x80, "\x31\xc0\xc3\x90\x48\xc7\xc0\x0f\0\0\0\x0f\x05") },
		{ { 0 } },
		{ { "f", FUNC(GLOBAL), TEXT, 0x10, 0 }, { "tramp", FUNC(LOCAL), TEXT, 0x14, 0 } },
		{ { 0x12, "f" }, { 0x13, "tramp" }, { 0x14, "tramp" }, { 0x1c, "tramp" },
			{ 0x82, "+80" }, { 0x83, "+84" }, { 0x8c, "+84" } } },
	{ "a return before padding ends a function, with no symbol at all",
		{ CODE(0x20, "\x31\xc0\xc3\xcc\xcc\xc3"), CODE(0x40, "\x0f\x0b") }, { { 0 } },
		{ { 0 } },
		{ { 0x1f, "-" }, { 0x22, "+20" }, { 0x23, "-" }, { 0x25, "+25" }, { 0x41, "+40" },
			{ 0x42, "-" } } },
};

static void add_division(struct make_elf *m, const struct division *division)
{
	_cleanup_(buf_done) struct buf cfi = BUF_INIT;
	size_t cie = cfi_cie_usual(&cfi);
	unsigned int index;

	for (size_t i = 0; i < 5 && division->code[i].len > 0; i++)
		memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + division->code[i].at,
			division->code[i].bytes, division->code[i].len);
	for (size_t i = 0; i < 3 && division->fdes[i].size > 0; i++)
		cfi_fde(&cfi, cie, MAKE_ELF_TEXT_VADDR + division->fdes[i].at,
			(uint32_t)division->fdes[i].size, CFI(""));
	index = make_elf_section(m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, cfi.data, cfi.len);
	m->sections[index].sh_addr = CFI_SECTION_VADDR;
	add_symbols(m, division->symbols);
	make_elf_symtab(m, ".symtab", SHT_SYMTAB);
}

static void functions_end_where_the_next_one_begins(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(divisions); i++) {
		const struct division *division = &divisions[i];
		struct make_elf m;
		struct elf_sym *sym;

		print_message("%s\n", division->what);
		make_elf_init(&m);
		add_division(&m, division);
		make_elf_finish(&m);
		sym = load(&m, NULL);
		for (size_t k = 0; k < 8 && division->expected[k].name; k++) {
			uint64_t at = MAKE_ELF_TEXT_OFFSET + division->expected[k].at, start;
			char text[32];

			snprintf(text, sizeof(text), "%s", find(sym, division->expected[k].at));
			if (text[0] == '-' && elf_sym_find_start(sym, at, &start))
				snprintf(text, sizeof(text), "+%lx", start - MAKE_ELF_TEXT_OFFSET);
			if (strcmp(text, division->expected[k].name) != 0)
				fail_msg("0x%lx: %s, not %s", division->expected[k].at, text,
					division->expected[k].name);
		}
		elf_sym_free(sym);
		make_elf_done(&m);
	}
}

#define LARGE 0x10000 /* several units */

static void large_init(struct make_elf *m)
{
	static const char zeros[LARGE];

	make_elf_init(m);
	m->sections[MAKE_ELF_TEXT_INDEX].sh_size = LARGE;
	buf_put(&m->file, zeros, sizeof(zeros));
}

static void large_finish(struct make_elf *m)
{
	const Elf64_Phdr text =
		make_elf_load(PF_R | PF_X, MAKE_ELF_TEXT_OFFSET, MAKE_ELF_TEXT_VADDR, LARGE);

	make_elf_symtab(m, ".symtab", SHT_SYMTAB);
	make_elf_finish(m);
	memcpy(m->file.data + sizeof(Elf64_Ehdr), &text, sizeof(text));
}

#define BYTES(at) (m->file.data + MAKE_ELF_TEXT_OFFSET + (at))

/* Code without an end: `xor %eax,%eax`. */
static void fill(struct make_elf *m, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += 2)
		memcpy(BYTES(at), "\x31\xc0", 2);
}

static void long_functions(struct make_elf *m)
{
	static const struct symbol symbols[] = { { "f", FUNC(GLOBAL), TEXT, 0x7f0, 0 },
		{ "vast", FUNC(GLOBAL), TEXT, 0x1000, 0 }, { 0 } };

	fill(m, 0x7f0, 0x830);
	memcpy(BYTES(0x830), "\xc3", 1);
	fill(m, 0x1000, 0x8000);
	/* What began before the padding is not looked for after it. */
	memcpy(BYTES(0x7ffe), "\xc3\xcc", 2);
	fill(m, 0x8000, 0x9000);
	memcpy(BYTES(0x9000), "\xc3", 1);
	add_symbols(m, symbols);
}

static void a_function_goes_on_in_the_next_units(void **state)
{
	uint64_t start, unit = ELF_FUNCTIONS_UNIT, far = 0x7000;
	struct make_elf made, *m = &made;
	struct elf_sym *sym;

	(void)state;
	large_init(m);
	long_functions(m);
	large_finish(m);
	sym = load(m, NULL);
	assert_string_equal(find(sym, 0x7f0), "f");
	assert_string_equal(find(sym, 0x810), "f");
	assert_string_equal(find(sym, 0x830), "f");
	assert_string_equal(find(sym, 0x831), "-");
	assert_string_equal(find(sym, 0x1000 + ELF_FUNCTIONS_BEFORE), "vast");
	/* Where its start is too far away a function begins again. */
	assert_string_equal(find(sym, far), "-");
	assert_true(elf_sym_find_start(sym, MAKE_ELF_TEXT_OFFSET + far, &start));
	assert_int_equal(start, MAKE_ELF_TEXT_OFFSET + far / unit * unit - ELF_FUNCTIONS_BEFORE);
	assert_true(elf_sym_find_start(sym, MAKE_ELF_TEXT_OFFSET + 0x8fff, &start));
	assert_int_equal(start, MAKE_ELF_TEXT_OFFSET + 0x8000);
	elf_sym_free(sym);
	make_elf_done(m);
}

/* One of the middle of a long file costs no more than what is around it. */
static void only_what_is_asked_for_is_divided(void **state)
{
	static const uint64_t asked = MAKE_ELF_TEXT_OFFSET + 0x7800;
	const struct elf_sym_query query = { .offsets = &asked, .len = 1 };
	struct make_elf made, *m = &made;
	struct elf_sym_stats all, one;
	struct elf_sym *sym, *picked;
	struct image image;
	struct why why;

	(void)state;
	large_init(m);
	for (uint64_t at = 0; at < LARGE; at += 16)
		memcpy(BYTES(at), "\x31\xc0\xc3\xcc", 4);
	large_finish(m);
	sym = load(m, NULL);
	assert_int_equal(image_init(&image, m->file.data, m->file.len, &why), 0);
	assert_int_equal(elf_sym_pick(&image, NULL, 0, &query, &picked), 0);
	elf_sym_stats(sym, &all);
	elf_sym_stats(picked, &one);
	assert_int_equal(all.functions, LARGE / 16);
	assert_int_equal(one.functions, ELF_FUNCTIONS_UNIT / 16);
	image_done(&image);
	elf_sym_free(sym);
	elf_sym_free(picked);
	make_elf_done(m);
}

/* The call before it does not return, and no padding follows. */
static void a_call_from_another_unit_begins_a_function(void **state)
{
	static const struct symbol symbols[] = { { "f", FUNC(GLOBAL), TEXT, 0x10, 0 }, { 0 } };
	struct make_elf made, *m = &made;
	struct elf_sym *sym;
	uint64_t start;

	(void)state;
	large_init(m);
	memcpy(BYTES(0x10), "\x31\xc0\xe8\x0d\0\0\0\x31\xc9\x31\xc9\xc3\0\0\0\0\x31\xd2\xc3", 19);
	fill(m, 0x1000, 0x2000);
	memcpy(BYTES(0x2000), "\xe8\x12\xe0\xff\xff\xc3", 6); /* call 0x17 */
	add_symbols(m, symbols);
	large_finish(m);
	sym = load(m, NULL);
	assert_string_equal(find(sym, 0x16), "f");
	assert_string_equal(find(sym, 0x17), "-");
	assert_true(elf_sym_find_start(sym, MAKE_ELF_TEXT_OFFSET + 0x1a, &start));
	assert_int_equal(start, MAKE_ELF_TEXT_OFFSET + 0x17);
	elf_sym_free(sym);
	make_elf_done(m);
}

static void arm64_functions_end_at_a_return(void **state)
{
	static const uint32_t code[] = { 0x54000060, 0xd65f03c0, 0xd503201f, 0x94000003, 0xd65f03c0,
		0xd503201f, 0xd2800000, 0xd65f03c0 };
	static const struct symbol symbols[] = { { "f", FUNC(GLOBAL), TEXT, 0x20, 0 }, { 0 } };
	struct elf_sym *sym;
	struct make_elf m;
	uint64_t start;

	(void)state;
	make_elf_init(&m);
	m.machine = EM_AARCH64;
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x20, code, sizeof(code));
	add_symbols(&m, symbols);
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	make_elf_finish(&m);
	sym = load(&m, NULL);
	assert_string_equal(find(sym, 0x30), "f");
	assert_string_equal(find(sym, 0x34), "-");
	assert_false(elf_sym_find_start(sym, MAKE_ELF_TEXT_OFFSET + 0x34, &start));
	assert_true(elf_sym_find_start(sym, MAKE_ELF_TEXT_OFFSET + 0x3c, &start));
	assert_int_equal(start, MAKE_ELF_TEXT_OFFSET + 0x38);
	elf_sym_free(sym);
	make_elf_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_end_where_the_next_one_begins),
		cmocka_unit_test(a_function_goes_on_in_the_next_units),
		cmocka_unit_test(only_what_is_asked_for_is_divided),
		cmocka_unit_test(a_call_from_another_unit_begins_a_function),
		cmocka_unit_test(arm64_functions_end_at_a_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
