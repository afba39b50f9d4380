/* SPDX-License-Identifier: Apache-2.0 */
/* Which symbol an offset belongs to: each rule on a file made for it, then on real files. */
#include "unit.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "elf_sym_check.h"

static struct elf_sym *pick(struct make_elf *m, const uint64_t *offsets, size_t len)
{
	const struct elf_sym_query query = { .offsets = offsets, .len = len };
	struct elf_sym *picked = NULL;
	struct image image;
	struct why why;

	assert_int_equal(image_init(&image, m->file.data, m->file.len, &why), 0);
	assert_int_equal(elf_sym_pick(&image, NULL, 0, &query, &picked), 0);
	image_done(&image);
	return picked;
}

struct rule {
	const char *what;
	struct symbol symbols[6];
	struct {
		uint64_t at;
		const char *name;
	} expected[6];
};

static const struct rule rules[] = {
	{ "a size is kept to, a gap is nobody's",
		{ { "a", FUNC(GLOBAL), TEXT, 0x10, 8 }, { "b", FUNC(GLOBAL), TEXT, 0x20, 8 } },
		{ { 0xf, "-" }, { 0x10, "a" }, { 0x17, "a" }, { 0x18, "-" }, { 0x20, "b" },
			{ 0x28, "-" } } },
	{ "no size reaches to the next symbol, and the last to the section's end",
		{ { "a", FUNC(GLOBAL), TEXT, 0x10, 0 }, { "b", FUNC(GLOBAL), TEXT, 0x20, 0 } },
		{ { 0x1f, "a" }, { 0x20, "b" }, { 0x7ff, "b" }, { 0x800, "-" } } },
	{ "the innermost of nested symbols wins, the outer one goes on behind it",
		{ { "outer", FUNC(GLOBAL), TEXT, 0, 0x100 },
			{ "mid", FUNC(LOCAL), TEXT, 0x20, 0x40 },
			{ "in", FUNC(LOCAL), TEXT, 0x30, 8 } },
		{ { 0x10, "outer" }, { 0x20, "mid" }, { 0x34, "in" }, { 0x38, "mid" },
			{ 0x60, "outer" }, { 0x100, "-" } } },
	{ "of two that overlap the later start wins",
		{ { "a", FUNC(GLOBAL), TEXT, 0, 0x20 }, { "b", FUNC(GLOBAL), TEXT, 0x10, 0x20 } },
		{ { 0xf, "a" }, { 0x10, "b" }, { 0x2f, "b" }, { 0x30, "-" } } },
	{ "one without a size inside another, in code without FDEs, does not count",
		{ { "a", FUNC(GLOBAL), TEXT, 0, 0x20 }, { "entry", FUNC(LOCAL), TEXT, 0x10, 0 } },
		{ { 0xf, "a" }, { 0x1f, "a" }, { 0x20, "-" } } },
	{ "a version is no part of a name, unless there is nothing else",
		{ { "memcpy@@GLIBC_2.14", FUNC(GLOBAL), TEXT, 0, 8 },
			{ "old@V1", FUNC(GLOBAL), TEXT, 8, 8 },
			{ "@odd", FUNC(GLOBAL), TEXT, 16, 8 } },
		{ { 0, "memcpy" }, { 8, "old" }, { 16, "@odd" } } },
	{ "undefined, data and absolute symbols name no code",
		{ { "undef", FUNC(GLOBAL), SHN_UNDEF, 0, 8 },
			{ "object", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), TEXT, 0, 8 },
			{ "data", FUNC(GLOBAL), MAKE_ELF_DATA_INDEX, 0x100000, 8 },
			{ "tls", ELF64_ST_INFO(STB_GLOBAL, STT_TLS), TEXT, 0, 8 } },
		{ { 0, "-" }, { 0x800, "-" } } },
	{ "a symbol at the end of its section is the end of something, no function",
		{ { "etext", NOTYPE(GLOBAL), TEXT, 0x800, 0 },
			{ "end", FUNC(GLOBAL), TEXT, 0x800, 0 } },
		{ { 0x7ff, "-" }, { 0x800, "-" } } },
	{ "no type counts in code that no function covers",
		{ { "_start", NOTYPE(GLOBAL), TEXT, 0, 0 }, { "f", FUNC(GLOBAL), TEXT, 0x80, 0x10 },
			{ "label", NOTYPE(LOCAL), TEXT, 0x88, 0 },
			{ "after", NOTYPE(LOCAL), TEXT, 0x90, 4 } },
		{ { 0x7f, "_start" }, { 0x87, "f" }, { 0x88, "f" }, { 0x8f, "f" },
			{ 0x90, "after" }, { 0x94, "-" } } },
	{ "mapping symbols and assembler labels are no names",
		{ { "$x", NOTYPE(LOCAL), TEXT, 0, 0 }, { "$d.12", NOTYPE(LOCAL), TEXT, 8, 0 },
			{ ".L5", NOTYPE(LOCAL), TEXT, 16, 0 }, { "", NOTYPE(LOCAL), TEXT, 24, 0 },
			{ "", FUNC(LOCAL), TEXT, 24, 8 } },
		{ { 0, "-" }, { 8, "-" }, { 16, "-" }, { 24, "-" } } },
	{ "function over no type, sized over unsized, whatever the rest says",
		{ { "t", NOTYPE(GLOBAL), TEXT, 0, 8 }, { "__unsized", FUNC(LOCAL), TEXT, 0, 0 },
			{ "u", FUNC(GLOBAL), TEXT, 8, 0 }, { "__sized", FUNC(LOCAL), TEXT, 8, 4 } },
		{ { 0, "__unsized" }, { 8, "__sized" }, { 12, "-" } } },
	{ "global over weak over local",
		{ { "a", FUNC(LOCAL), TEXT, 0, 4 }, { "__b", FUNC(WEAK), TEXT, 0, 4 },
			{ "c", FUNC(WEAK), TEXT, 8, 4 }, { "____d", FUNC(GLOBAL), TEXT, 8, 4 } },
		{ { 0, "__b" }, { 8, "____d" } } },
	{ "fewer underscores, then shorter, then alphabetic",
		{ { "__abc", FUNC(GLOBAL), TEXT, 0, 4 }, { "abcdefgh", FUNC(GLOBAL), TEXT, 0, 4 },
			{ "long_name", FUNC(GLOBAL), TEXT, 8, 4 },
			{ "name", FUNC(GLOBAL), TEXT, 8, 4 }, { "b", FUNC(GLOBAL), TEXT, 16, 4 },
			{ "a", FUNC(GLOBAL), TEXT, 16, 4 } },
		{ { 0, "abcdefgh" }, { 8, "name" }, { 16, "a" } } },
	{ "an IFUNC is named where its resolver is",
		{ { "strlen", ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), TEXT, 0, 8 } },
		{ { 4, "strlen" } } },
	{ "an endless size ends with the section",
		{ { "huge", FUNC(GLOBAL), TEXT, 0x10, UINT64_MAX },
			{ "f", FUNC(GLOBAL), TEXT, 0x20, UINT64_MAX - 8 } },
		{ { 0x10, "huge" }, { 0x7ff, "f" }, { 0x800, "-" } } },
};

/* Makes a file with these symbols alone. */
static struct elf_sym *load_symbols(struct make_elf *m, const struct symbol *symbols)
{
	make_elf_init(m);
	add_symbols(m, symbols);
	make_elf_symtab(m, ".symtab", SHT_SYMTAB);
	make_elf_finish(m);
	return load(m, NULL);
}

static void each_rule_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct make_elf m;
		struct elf_sym *sym;

		print_message("%s\n", rules[i].what);
		sym = load_symbols(&m, rules[i].symbols);
		for (size_t k = 0; k < 6 && rules[i].expected[k].name; k++)
			assert_string_equal(
				find(sym, rules[i].expected[k].at), rules[i].expected[k].name);
		elf_sym_free(sym);
		make_elf_done(&m);
	}
}

/* As __start_context: the first frame of a coroutine. */
static void a_return_address_that_no_call_pushed_is_a_functions_first_byte(void **state)
{
	static const struct symbol symbols[] = { { "f", FUNC(GLOBAL), TEXT, 0x10, 8 },
		{ "g", FUNC(GLOBAL), TEXT, 0x18, 8 }, { "h", FUNC(GLOBAL), TEXT, 0x400, 8 },
		{ 0 } };
	static const struct expected {
		uint64_t at;
		const char *name, *caller;
	} all[] = { { 0xe, "-", "-" }, { 0xf, "-", "f" }, { 0x10, "f", "f" }, { 0x17, "f", "f" },
		{ 0x1f, "g", "g" }, { 0x20, "-", "-" }, { 0x3ff, "-", "h" } };
	const uint64_t offsets[] = { (MAKE_ELF_TEXT_OFFSET + 0x3ff) | ELF_SYM_CALLER };
	const struct elf_sym_query query = { .offsets = offsets, .len = 1 };
	struct elf_sym *sym, *picked;
	struct image image;
	struct elf_name name;
	struct make_elf m;
	struct why why;

	(void)state;
	sym = load_symbols(&m, symbols);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_string_equal(find(sym, all[i].at), all[i].name);
		assert_string_equal(find(sym, all[i].at | ELF_SYM_CALLER), all[i].caller);
	}
	assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
	assert_int_equal(elf_sym_pick(&image, NULL, 0, &query, &picked), 0);
	assert_true(elf_sym_knows(picked, offsets[0]));
	assert_true(elf_sym_find(picked, offsets[0], &name));
	assert_string_equal(name.name, "h");
	image_done(&image);
	elf_sym_free(picked);
	elf_sym_free(sym);
	make_elf_done(&m);
}

static void a_piece_behind_an_inner_symbol_knows_where_its_symbol_began(void **state)
{
	static const struct symbol symbols[] = { { "a", FUNC(GLOBAL), TEXT, 0x10, 0x100 },
		{ "b", FUNC(GLOBAL), TEXT, 0x20, 8 }, { "c", FUNC(GLOBAL), TEXT, 0x40, 8 }, { 0 } };
	struct elf_name name;
	struct make_elf m;
	struct elf_sym *sym;

	(void)state;
	sym = load_symbols(&m, symbols);
	for (uint64_t at = 0x10; at < 0x110; at++) {
		char inner = at >= 0x20 && at < 0x28 ? 'b' : at >= 0x40 && at < 0x48 ? 'c' : 'a';

		assert_true(elf_sym_find(sym, MAKE_ELF_TEXT_OFFSET + at, &name));
		assert_int_equal(name.name[0], inner);
		assert_int_equal(name.start - MAKE_ELF_TEXT_OFFSET,
			inner == 'a'           ? 0x10
				: inner == 'b' ? 0x20
					       : 0x40);
	}
	elf_sym_free(sym);
	make_elf_done(&m);
}

/* Between two blocks that are asked for, where nothing was picked, another one begins. */
static void a_symbol_without_a_size_ends_where_one_begins_that_was_not_picked(void **state)
{
	static const struct symbol symbols[] = { { "endless", FUNC(GLOBAL), TEXT, 0x1f0, 0 },
		{ "next", FUNC(GLOBAL), TEXT, 0x210, 8 }, { "far", FUNC(GLOBAL), TEXT, 0x480, 0 },
		{ 0 } };
	static const uint64_t offsets[] = { MAKE_ELF_TEXT_OFFSET + 0x1f8,
		MAKE_ELF_TEXT_OFFSET + 0x400, MAKE_ELF_TEXT_OFFSET + 0x700 };
	struct elf_sym *all, *picked;
	struct make_elf m;

	(void)state;
	make_elf_init(&m);
	m.machine = EM_RISCV; /* of which code is not divided */
	add_symbols(&m, symbols);
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	make_elf_finish(&m);
	all = load(&m, NULL);
	picked = pick(&m, offsets, ARRAY_SIZE(offsets));
	assert_string_equal(find(picked, 0x1f8), "endless");
	assert_string_equal(find(picked, 0x400), "-");
	assert_string_equal(find(picked, 0x700), "far");
	assert_string_equal(find(all, 0x210), "next");
	assert_false(elf_sym_knows(picked, MAKE_ELF_TEXT_OFFSET + 0x210));
	assert_true(elf_sym_knows(picked, m.file.len));
	assert_true(elf_sym_knows(all, MAKE_ELF_TEXT_OFFSET + 0x210));
	elf_sym_free(picked);
	elf_sym_free(all);
	make_elf_done(&m);
}

static void tables_are_merged_and_the_source_is_told(void **state)
{
	static const struct symbol in_symtab[] = { { "local", FUNC(LOCAL), TEXT, 0, 8 },
		{ "both", FUNC(GLOBAL), TEXT, 8, 8 }, { 0 } };
	static const struct symbol in_dynsym[] = { { "both", FUNC(GLOBAL), TEXT, 8, 8 },
		{ "exported", FUNC(GLOBAL), TEXT, 16, 8 }, { 0 } };
	static const struct symbol in_debug[] = { { "both", FUNC(GLOBAL), TEXT, 8, 8 },
		{ "debugged", FUNC(LOCAL), TEXT, 24, 8 }, { 0 } };
	static const struct {
		const char *name;
		enum elf_sym_source source;
	} expected[] = { { "local", ELF_SYM_SYMTAB }, { "both", ELF_SYM_SYMTAB },
		{ "exported", ELF_SYM_DYNSYM }, { "debugged", ELF_SYM_DEBUG_FILE } };
	struct elf_sym_stats stats;
	struct elf_name name;
	struct make_elf m, debug;
	struct elf_sym *sym;

	(void)state;
	make_elf_init(&m);
	add_symbols(&m, in_symtab);
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	add_symbols(&m, in_dynsym);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	make_elf_finish(&m);
	make_elf_init(&debug);
	/* as in a real one: the code's bytes and their place in the file are not there */
	debug.sections[TEXT].sh_type = SHT_NOBITS;
	debug.sections[TEXT].sh_offset = 0x40;
	add_symbols(&debug, in_debug);
	make_elf_symtab(&debug, ".symtab", SHT_SYMTAB);
	make_elf_finish(&debug);
	memset(debug.file.data + sizeof(Elf64_Ehdr), 0, 2 * sizeof(Elf64_Phdr));
	sym = load(&m, &debug);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(elf_sym_find(sym, MAKE_ELF_TEXT_OFFSET + 8 * i + 7, &name));
		assert_string_equal(name.name, expected[i].name);
		assert_int_equal(name.source, expected[i].source);
	}
	elf_sym_stats(sym, &stats);
	assert_int_equal(stats.symbols, 6);
	assert_true(stats.memory_bytes < 1024);
	elf_sym_free(sym);
	make_elf_done(&m);
	make_elf_done(&debug);
}

static void a_broken_table_costs_its_own_names_only(void **state)
{
	static const struct symbol symbols[] = { { "f", FUNC(GLOBAL), TEXT, 0, 8 }, { 0 } };
	struct elf_sym_stats stats;
	struct make_elf m;
	struct elf_sym *sym;
	unsigned int bad;

	(void)state;
	make_elf_init(&m);
	bad = make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	m.sections[bad].sh_link = 0xffff;
	add_symbols(&m, symbols);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	make_elf_finish(&m);
	sym = load(&m, NULL);
	elf_sym_stats(sym, &stats);
	assert_int_equal(stats.tables_bad, 1);
	assert_string_equal(find(sym, 0), "f");
	elf_sym_free(sym);
	make_elf_done(&m);
}

static void no_symbols_at_all_is_no_error(void **state)
{
	struct make_elf m;
	struct elf_sym *sym;

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	sym = load(&m, NULL);
	assert_string_equal(find(sym, 0), "-");
	elf_sym_free(sym);
	make_elf_done(&m);
}

/* Two stubs behind the header of arm64's .plt, the second with `bti c`; slots are at 0x420018 and
 * 0x420020, that is 0x1f pages and 24 or 32 bytes from the stubs. They are of the first two
 * symbols. */
static void add_arm64_plt(struct make_elf *m, uint64_t at)
{
	static const uint32_t plt[] = { 0xa9bf7bf0, 0xf00000f0, 0xf9400a11, 0x91004210, 0xd61f0220,
		0xd503201f, 0xd503201f, 0xd503201f, 0xf00000f0, 0xf9400e11, 0x91006210, 0xd61f0220,
		0xd503245f, 0xf00000f0, 0xf9401211, 0x91008210, 0xd61f0220, 0xd503201f };
	static const Elf64_Rela relocs[] = { { 0x420020, ELF64_R_INFO(2, R_AARCH64_JUMP_SLOT), 0 },
		{ 0x420018, ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT), 0 } };
	unsigned int index;

	m->machine = EM_AARCH64;
	make_elf_section(m, ".rela.plt", SHT_RELA, 0, relocs, sizeof(relocs));
	memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + at, plt, sizeof(plt));
	index = make_elf_header(m, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
	m->sections[index].sh_offset = MAKE_ELF_TEXT_OFFSET + at;
	m->sections[index].sh_addr = MAKE_ELF_TEXT_VADDR + at;
	m->sections[index].sh_size = sizeof(plt);
}

static void arm64_stubs_are_named_after_whom_they_call(void **state)
{
	static const struct symbol symbols[] = { { "malloc", FUNC(GLOBAL), SHN_UNDEF, 0, 0 },
		{ "free@V1", FUNC(GLOBAL), SHN_UNDEF, 0, 0 }, { 0 } };
	struct make_elf m;
	struct elf_sym *sym;

	(void)state;
	make_elf_init(&m);
	add_symbols(&m, symbols);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	add_arm64_plt(&m, 0x100);
	make_elf_finish(&m);
	sym = load(&m, NULL);
	assert_string_equal(find(sym, 0x100), "-");
	assert_string_equal(find(sym, 0x11f), "-");
	assert_string_equal(find(sym, 0x120), "malloc@plt");
	assert_string_equal(find(sym, 0x12f), "malloc@plt");
	assert_string_equal(find(sym, 0x130), "free@plt");
	assert_string_equal(find(sym, 0x143), "free@plt");
	assert_string_equal(find(sym, 0x144), "-");
	elf_sym_free(sym);
	make_elf_done(&m);
}

/* It begins in a block that is asked for, and nobody asks for the stub's. */
static void a_symbol_without_a_size_ends_where_an_unpicked_stub_begins(void **state)
{
	static const struct symbol symbols[] = { { "malloc", FUNC(GLOBAL), SHN_UNDEF, 0, 0 },
		{ "free", FUNC(GLOBAL), SHN_UNDEF, 0, 0 },
		{ "endless", FUNC(GLOBAL), SHN_ABS, 0x1f0, 0 }, { 0 } };
	static const uint64_t offsets[] = { MAKE_ELF_TEXT_OFFSET + 0x1f8,
		MAKE_ELF_TEXT_OFFSET + 0x700 };
	struct elf_sym *all, *picked;
	struct make_elf m;

	(void)state;
	make_elf_init(&m);
	add_symbols(&m, symbols);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	add_arm64_plt(&m, 0x300);
	make_elf_finish(&m);
	all = load(&m, NULL);
	picked = pick(&m, offsets, ARRAY_SIZE(offsets));
	assert_string_equal(find(all, 0x308), "endless");
	assert_string_equal(find(all, 0x320), "malloc@plt");
	assert_string_equal(find(all, 0x700), "-");
	assert_string_equal(find(picked, 0x1f8), "endless");
	assert_string_equal(find(picked, 0x700), "-");
	elf_sym_free(picked);
	elf_sym_free(all);
	make_elf_done(&m);
}

/* ---- real files ----------------------------------------------------------------------------- */

struct module {
	const char *path; /* what dladdr() calls it */
	uintptr_t base;
	struct buf file;
	struct image image;
	struct elf_sym *sym;
};

static void open_module(struct module *m, const void *code)
{
	struct why why;
	Dl_info info;

	assert_true(dladdr(code, &info) != 0);
	*m = (struct module){ .path = info.dli_fname, .base = (uintptr_t)info.dli_fbase };
	if (access(m->path, R_OK) != 0)
		m->path = "/proc/self/exe";
	assert_int_equal(fd_read_path(m->path, 1 << 30, &m->file), 0);
	assert_int_equal(image_init(&m->image, m->file.data, m->file.len, &why), 0);
	assert_int_equal(elf_sym_load(&m->image, NULL, 0, &m->sym), 0);
	picks_alike(&m->image, NULL, m->sym);
}

static void close_module(struct module *m)
{
	elf_sym_free(m->sym);
	image_done(&m->image);
	buf_done(&m->file);
}

static bool find_address(const struct module *m, uintptr_t addr, struct elf_name *name)
{
	uint64_t vaddr = m->image.type == ET_DYN ? addr - m->base : addr, offset;

	return image_vaddr_to_offset(&m->image, vaddr, &offset) &&
		elf_sym_find(m->sym, offset, name);
}

static void this_programs_own_functions_are_found(void **state)
{
	struct elf_name name;
	struct module m;

	(void)state;
	open_module(&m, (const void *)each_rule_holds);
	assert_true(find_address(&m, (uintptr_t)each_rule_holds, &name));
	assert_string_equal(name.name, "each_rule_holds");
	assert_int_equal(name.source, ELF_SYM_SYMTAB);
	assert_true(find_address(&m, (uintptr_t)elf_sym_load + 1, &name));
	assert_string_equal(name.name, "elf_sym_load");
	close_module(&m);
}

/* Addresses all over libc, of which the dynamic linker tells the exported function they are in. */
static void libcs_functions_agree_with_the_dynamic_linker(void **state)
{
	size_t agreed = 0, differed = 0;
	struct elf_sym_stats stats;
	struct module m;

	(void)state;
	open_module(&m, dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	for (uintptr_t at = m.base; at < m.base + 0x180000; at += 97) {
		const ElfW(Sym) *entry = NULL;
		struct elf_name name;
		uint64_t start;
		Dl_info info;

		if (!dladdr1((void *)at, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry ||
			ELF64_ST_TYPE(entry->st_info) != STT_FUNC || entry->st_size == 0)
			continue;
		assert_true(image_vaddr_to_offset(
			&m.image, (uintptr_t)info.dli_saddr - m.base, &start));
		if (find_address(&m, at, &name) && name.start == start)
			agreed++;
		else
			differed++;
	}
	elf_sym_stats(m.sym, &stats);
	print_message("%s: %zu symbols, %zu bytes; %zu agreed, %zu not\n", m.path, stats.symbols,
		stats.memory_bytes, agreed, differed);
	assert_true(agreed > 500);
	assert_true(differed <= agreed / 50);
	assert_true(stats.memory_bytes < 64 * stats.symbols);
	close_module(&m);
}

static void use(const void *data, size_t len)
{
	struct elf_sym *sym = NULL;
	struct elf_name name;
	struct image image;
	struct why why;

	if (image_init(&image, data, len, &why) < 0)
		return;
	assert_int_equal(elf_sym_load(&image, &image, ELF_SYM_DEBUG_FILE, &sym), 0);
	picks_alike(&image, &image, sym);
	for (uint64_t at = 0; at < 0x2000; at += 13)
		if (elf_sym_find(sym, at, &name))
			assert_true(name.start <= at && strlen(name.name) <= ELF_SYM_NAME_MAX);
	elf_sym_free(sym);
	image_done(&image);
}

static void any_flipped_file_is_survived(void **state)
{
	static const uint32_t plt[] = { 0x0125ff, 0x68000000, 0, 0xe9000000, 0xfa1e0ff3, 0x68, 0,
		0 };
	static const Elf64_Rela relocs[] = { { 0x401206, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
		{ 0x420018, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x401000 } };
	struct make_elf m;
	unsigned int index;

	(void)state;
	srand(6);
	make_elf_init(&m);
	for (size_t i = 0; i < 200; i++)
		m.file.data[MAKE_ELF_TEXT_OFFSET + 0x300 + i] = (char)rand();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		add_symbols(&m, rules[i].symbols[5].name ? rules[0].symbols : rules[i].symbols);
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	add_symbols(&m, rules[2].symbols);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	make_elf_section(&m, ".rela.plt", SHT_RELA, 0, relocs, sizeof(relocs));
	index = make_elf_header(&m, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x200, plt, sizeof(plt));
	m.sections[index].sh_offset = MAKE_ELF_TEXT_OFFSET + 0x200;
	m.sections[index].sh_addr = MAKE_ELF_TEXT_VADDR + 0x200;
	m.sections[index].sh_size = sizeof(plt);
	make_elf_finish(&m);
	for (int round = 0; round < 5000; round++) {
		char *copy = malloc(m.file.len);

		memcpy(copy, m.file.data, m.file.len);
		for (int flips = rand() % 12; flips > 0; flips--)
			copy[0x2000 + (size_t)rand() % (m.file.len - 0x2000)] = (char)rand();
		if (rand() % 2)
			copy[0x1200 + rand() % 32] = (char)rand();
		use(copy, m.file.len);
		free(copy);
	}
	make_elf_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_holds),
		cmocka_unit_test(a_return_address_that_no_call_pushed_is_a_functions_first_byte),
		cmocka_unit_test(a_piece_behind_an_inner_symbol_knows_where_its_symbol_began),
		cmocka_unit_test(a_symbol_without_a_size_ends_where_one_begins_that_was_not_picked),
		cmocka_unit_test(a_symbol_without_a_size_ends_where_an_unpicked_stub_begins),
		cmocka_unit_test(tables_are_merged_and_the_source_is_told),
		cmocka_unit_test(a_broken_table_costs_its_own_names_only),
		cmocka_unit_test(no_symbols_at_all_is_no_error),
		cmocka_unit_test(arm64_stubs_are_named_after_whom_they_call),
		cmocka_unit_test(this_programs_own_functions_are_found),
		cmocka_unit_test(libcs_functions_agree_with_the_dynamic_linker),
		cmocka_unit_test(any_flipped_file_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
