/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls are possible, in files made for it. */
#include "unit.h"

#include "base/own.h"
#include "cfi_bytes.h"
#include "make_elf_symbols.h"
#include "sym/elf_calls.h"

#define OUTSIDE ELF_CALL_OUTSIDE
#define NO_FILE ELF_CALL_NO_FILE
#define POSSIBLE ELF_CALL_POSSIBLE
#define IMPOSSIBLE ELF_CALL_IMPOSSIBLE
#define NONE ELF_CALL_NONE
#define LEAVES ELF_CALL_LEAVES

/* Offsets in the text of what every file has: code of a function that it exports, and PLT stubs. */
#define OWN 0x180
#define STUBS 0x200
#define STUB_SIZE 16
#define RETURN 0x15 /* all calls end here */

/* In .dynsym, and by their order in the PLT. */
static const struct {
	const char *name;
	unsigned char type;
	Elf64_Section section;
	Elf64_Addr at;
} symbols[] = {
	{ "outer", STT_FUNC, SHN_UNDEF, 0 },
	{ "own", STT_FUNC, MAKE_ELF_TEXT_INDEX, OWN },
	{ "picked", STT_GNU_IFUNC, MAKE_ELF_TEXT_INDEX, OWN },
	{ "other", STT_FUNC, SHN_UNDEF, 0 },
};

struct code {
	uint64_t at;
	const char *bytes;
	size_t len;
};

#define CODE(at, bytes)                      \
	{                                    \
		at, bytes, sizeof(bytes) - 1 \
	}
#define CALL(at, low, high) CODE(at, "\xe8" low high "\x00\x00")
#define CALL_40 CALL(0x10, "\x2b", "\x00")
#define CALL_STUB(low) CALL(0x10, low, "\x01")

struct calls_case {
	const char *what;
	struct code code[5];
	uint64_t fde_at, fde_size;
	struct {
		uint64_t to;
		enum elf_call_verdict verdict;
	} expected[6];
};

static const struct calls_case cases[] = {
	{ "a direct call leads to its function, up to the return",
		{ CALL_40, CODE(0x40, "\x31\xc0\xc3") }, 0, 0,
		{ { 0x40, POSSIBLE }, { 0x42, POSSIBLE }, { 0x43, IMPOSSIBLE },
			{ 0x3f, IMPOSSIBLE }, { OUTSIDE, IMPOSSIBLE }, { NO_FILE, IMPOSSIBLE } } },
	{ "jumps and branches lead on",
		{ CALL_40, CODE(0x40, "\xeb\x1e"), CODE(0x60, "\x74\x1e\xc3"),
			CODE(0x80, "\xe9\x1b\x00\x00\x00"), CODE(0xa0, "\x31\xc0\xc3") },
		0, 0,
		{ { 0xa1, POSSIBLE }, { 0x62, POSSIBLE }, { 0x63, IMPOSSIBLE },
			{ 0x42, IMPOSSIBLE } } },
	{ "an inner call comes back",
		{ CALL_40, CALL(0x40, "\xbb", "\x00"), CODE(0x45, "\x90\xc3") }, 0x40, 7,
		{ { 0x46, POSSIBLE }, { 0x100, IMPOSSIBLE } } },
	{ "a call that ends its function does not",
		{ CALL_40, CALL(0x40, "\xbb", "\x00"), CODE(0x45, "\x90\xc3") }, 0x40, 5,
		{ { 0x44, POSSIBLE }, { 0x46, IMPOSSIBLE } } },
	{ "exceptions and jump tables lead to all of a function",
		{ CALL_40, CODE(0x40, "\x31\xc0\xc3\x90\xc3") }, 0x40, 5,
		{ { 0x44, POSSIBLE }, { 0x45, IMPOSSIBLE } } },
	{ "a loop has an end", { CALL_40, CODE(0x40, "\x31\xc0\xeb\xfc") }, 0, 0,
		{ { 0x43, POSSIBLE }, { 0x44, IMPOSSIBLE } } },
	{ "an indirect jump may lead anywhere", { CALL_40, CODE(0x40, "\x31\xc0\xff\xe0") }, 0, 0,
		{ { 0x100, POSSIBLE }, { OUTSIDE, POSSIBLE }, { NO_FILE, POSSIBLE } } },
	{ "so may a return to an address that was pushed",
		{ CALL_40, CODE(0x40, "\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9"),
			CODE(0x4c, "\x48\x89\x04\x24\xc3") },
		0, 0, { { 0x100, POSSIBLE } } },
	{ "and code that cannot be read", { CALL_40, CODE(0x40, "\x31\xc0\x06") }, 0, 0,
		{ { 0x100, POSSIBLE } } },
	{ "an indirect call may lead anywhere", { CODE(0x13, "\xff\xd0") }, 0, 0,
		{ { 0x100, POSSIBLE }, { OUTSIDE, POSSIBLE } } },
	{ "so may one with a displacement", { CODE(0x10, "\x41\xff\x54\x24\x08") }, 0, 0,
		{ { 0x100, POSSIBLE } } },
	{ "no call", { CODE(0x10, "\x48\x89\xe5\x31\xc0\xc3") }, 0, 0,
		{ { 0x100, NONE }, { OUTSIDE, NONE }, { NO_FILE, NONE } } },
	{ "the PLT leads to another file, by name", { CALL_STUB("\xeb") }, 0, 0,
		{ { OUTSIDE, LEAVES }, { 0x100, IMPOSSIBLE }, { NO_FILE, POSSIBLE } } },
	{ "also by a tail jump", { CALL_40, CODE(0x40, "\xe9\xbb\x01\x00\x00") }, 0, 0,
		{ { OUTSIDE, LEAVES }, { 0x44, POSSIBLE }, { 0x45, IMPOSSIBLE } } },
	{ "one of two names",
		{ CALL_40, CODE(0x40, "\x0f\x84\xba\x01\x00\x00\xe9\xe5\x01\x00\x00") }, 0, 0,
		{ { OUTSIDE, POSSIBLE }, { 0x4a, POSSIBLE }, { 0x4b, IMPOSSIBLE } } },
	{ "the PLT's own symbol may be this file's", { CALL_STUB("\xfb") }, 0, 0,
		{ { OWN + 2, POSSIBLE }, { OWN + 3, IMPOSSIBLE }, { OUTSIDE, LEAVES } } },
	{ "an IFUNC is one of the functions that its resolver names",
		{ CALL(0x10, "\x0b", "\x02"), CODE(OWN, "\x48\x8d\x05\xb9\xfe\xff\xff\xc3"),
			CODE(0x40, "\x31\xc0\xc3") },
		OWN, 8, { { 0x42, POSSIBLE }, { 0x43, IMPOSSIBLE }, { OWN, IMPOSSIBLE } } },
	{ "or any function if it names none", { CALL(0x10, "\x0b", "\x02") }, 0, 0,
		{ { 0x100, POSSIBLE }, { OUTSIDE, POSSIBLE } } },
	{ "a signal needs no call",
		{ CODE(0x10, "\x31\xc0\x31\xc0\xc3"),
			CODE(0x40, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05") },
		0, 0,
		{ { 0x3f, POSSIBLE }, { 0x40, POSSIBLE }, { 0x47, POSSIBLE }, { 0x50, NONE } } },
	{ "and its return address no call before it",
		{ CODE(0x15, "\xb8\x0f\x00\x00\x00\x0f\x05") }, 0, 0, { { 0x100, POSSIBLE } } },
};

static void add_plt(struct make_elf *m)
{
	Elf64_Rela relocs[ARRAY_SIZE(symbols)] = { 0 };
	unsigned int index;

	for (unsigned int i = 0; i < ARRAY_SIZE(symbols); i++) {
		uint64_t at = STUBS + i * STUB_SIZE, slot = MAKE_ELF_DATA_VADDR + 8 * i;
		uint32_t distance = (uint32_t)(slot - (MAKE_ELF_TEXT_VADDR + at + 10));
		char *stub = m->file.data + MAKE_ELF_TEXT_OFFSET + at;

		memcpy(stub, "\xf3\x0f\x1e\xfa\xff\x25", 6);
		memcpy(stub + 6, &distance, sizeof(distance));
		relocs[i].r_offset = slot;
		relocs[i].r_info = ELF64_R_INFO(i + 1, R_X86_64_JUMP_SLOT);
		make_elf_symbol(m, symbols[i].name, ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
			symbols[i].section, symbols[i].at, 0);
	}
	make_elf_symtab(m, ".dynsym", SHT_DYNSYM);
	make_elf_section(m, ".rela.plt", SHT_RELA, 0, relocs, sizeof(relocs));
	index = make_elf_header(m, ".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
	m->sections[index].sh_addr = MAKE_ELF_TEXT_VADDR + STUBS;
	m->sections[index].sh_offset = MAKE_ELF_TEXT_OFFSET + STUBS;
	m->sections[index].sh_size = ARRAY_SIZE(symbols) * STUB_SIZE;
	m->sections[index].sh_entsize = STUB_SIZE;
}

static void make(struct make_elf *m, const struct calls_case *one)
{
	_cleanup_(buf_done) struct buf cfi = BUF_INIT;
	unsigned int index;

	make_elf_init(m);
	memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + OWN, "\x31\xc0\xc3", 3);
	for (size_t i = 0; i < ARRAY_SIZE(one->code) && one->code[i].len > 0; i++)
		memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + one->code[i].at, one->code[i].bytes,
			one->code[i].len);
	if (one->fde_size > 0) {
		cfi_fde(&cfi, cfi_cie_usual(&cfi), MAKE_ELF_TEXT_VADDR + one->fde_at,
			(uint32_t)one->fde_size, CFI(""));
		index = make_elf_section(
			m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, cfi.data, cfi.len);
		m->sections[index].sh_addr = CFI_SECTION_VADDR;
	}
	add_plt(m);
	make_elf_finish(m);
}

static void begin(struct make_elf *m, struct image *image, struct elf_calls *calls)
{
	struct why why;

	assert_int_equal(image_init(image, m->file.data, m->file.len, &why), 0);
	assert_int_equal(elf_calls_init(calls, image), 0);
}

static void end(struct make_elf *m, struct image *image, struct elf_calls *calls)
{
	elf_calls_done(calls);
	image_done(image);
	make_elf_done(m);
}

static uint64_t offset_of(uint64_t at)
{
	return at >= NO_FILE ? at : MAKE_ELF_TEXT_OFFSET + at;
}

static struct elf_call check(
	struct elf_calls *calls, enum elf_call_kind kind, uint64_t from, uint64_t to)
{
	const struct elf_call_query query = { kind, from, offset_of(to) };
	struct elf_call out = { .verdict = ELF_CALL_VERDICTS };

	assert_int_equal(elf_calls_check(calls, &query, &out), 0);
	return out;
}

static struct elf_call check_return(struct elf_calls *calls, uint64_t to)
{
	return check(calls, ELF_CALL_RETURN, offset_of(RETURN) - 1, to);
}

static void a_call_leads_to_what_it_can_reach(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_calls calls;
		struct image image;
		struct make_elf m;

		make(&m, &cases[i]);
		begin(&m, &image, &calls);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].expected) && cases[i].expected[k].to;
			k++) {
			struct elf_call call = check_return(&calls, cases[i].expected[k].to);

			print_message("%s: 0x%lx\n", cases[i].what, cases[i].expected[k].to);
			assert_int_equal(call.verdict, cases[i].expected[k].verdict);
			assert_int_equal(call.name != 0, call.verdict == LEAVES);
		}
		end(&m, &image, &calls);
	}
}

static void a_name_leads_to_the_file_that_exports_it(void **state)
{
	static const struct calls_case leaves = { "", { CALL_STUB("\xeb") }, 0, 0, { { 0 } } };
	uint64_t own = elf_calls_hash("own", 3), picked = elf_calls_hash("picked", 6);
	uint64_t outer = elf_calls_hash("outer", 5);
	struct elf_calls calls;
	struct image image;
	struct make_elf m;

	(void)state;
	make(&m, &leaves);
	begin(&m, &image, &calls);
	assert_int_equal(check_return(&calls, OUTSIDE).name, outer);
	assert_int_equal(check(&calls, ELF_CALL_ENTRY, own, OWN + 2).verdict, POSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_ENTRY, own, OWN + 3).verdict, IMPOSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_ENTRY, picked, 0x100).verdict, POSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_ENTRY, outer, 0x100).verdict, POSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_SIGNAL, 0, 0x100).verdict, NONE);
	end(&m, &image, &calls);
}

static void a_search_over_its_limit_proves_nothing(void **state)
{
	static const struct calls_case loop = { "", { CALL_40, CODE(0x40, "\x31\xc0\xeb\xfc") }, 0,
		0, { { 0 } } };
	struct elf_calls calls;
	struct image image;
	struct make_elf m;

	(void)state;
	make(&m, &loop);
	begin(&m, &image, &calls);
	calls.steps_left = 2;
	assert_int_equal(check_return(&calls, 0x100).verdict, IMPOSSIBLE);
	calls.steps_left = 1;
	assert_int_equal(check_return(&calls, 0x100).verdict, POSSIBLE);
	end(&m, &image, &calls);
}

static void arm64_calls_are_known(void **state)
{
	static const uint32_t caller[] = { 0x9400000c }; /* bl, from 0x10 to 0x40 */
	static const uint32_t callee[] = { 0xd503245f, 0x14000007, 0xd65f03c0 };
	static const uint32_t last[] = { 0x52800000, 0xd65f03c0 };
	struct elf_calls calls;
	struct image image;
	struct make_elf m;
	uint64_t from = offset_of(0x13);

	(void)state;
	make_elf_init(&m);
	m.machine = EM_AARCH64;
	memcpy(m.file.data + offset_of(0x10), caller, sizeof(caller));
	memcpy(m.file.data + offset_of(0x40), callee, sizeof(callee));
	memcpy(m.file.data + offset_of(0x60), last, sizeof(last));
	make_elf_finish(&m);
	begin(&m, &image, &calls);
	assert_int_equal(check(&calls, ELF_CALL_RETURN, from, 0x64).verdict, POSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_RETURN, from, 0x48).verdict, IMPOSSIBLE);
	assert_int_equal(check(&calls, ELF_CALL_RETURN, from + 4, 0x64).verdict, NONE);
	end(&m, &image, &calls);
}

static void of_other_machines_nothing_is_known(void **state)
{
	struct elf_calls calls;
	struct image image;
	struct make_elf m;

	(void)state;
	make_elf_init(&m);
	m.machine = EM_RISCV;
	make_elf_finish(&m);
	begin(&m, &image, &calls);
	assert_int_equal(check_return(&calls, 0x100).verdict, POSSIBLE);
	end(&m, &image, &calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_leads_to_what_it_can_reach),
		cmocka_unit_test(a_name_leads_to_the_file_that_exports_it),
		cmocka_unit_test(a_search_over_its_limit_proves_nothing),
		cmocka_unit_test(arm64_calls_are_known),
		cmocka_unit_test(of_other_machines_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
