/* SPDX-License-Identifier: Apache-2.0 */
/* kallsyms: small texts for each rule, and this kernel's own against a slow reader. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "sym/kernel_sym.h"

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "0000000000001000 d percpu_thing\n"
			     "ffffffff81000000 T srso_alias_untrain_ret\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000100 t __pfx_do_one\n"
			     "ffffffff81000110 t do_one\n"
			     "ffffffff81000200 t local_alias\n"
			     "ffffffff81000200 T __global_alias\n"
			     "ffffffff81000200 W weak_alias\n"
			     "ffffffff81000300 T zebra\n"
			     "ffffffff81000300 T apple\n"
			     "ffffffff81000400 T last_in_text\n"
			     "ffffffff81000480 T _etext\n"
			     "ffffffff82000000 R rodata\n"
			     "ffffffff82000010 D data\n"
			     "ffffffffc0200000 t second_module\t[two]\n"
			     "ffffffffc0300000 b two_bss\t[two]\n"
			     "ffffffffc0100000 t mod_init\t[one]\n"
			     "ffffffffc0100040 t mod_work\t[one]\n"
			     "ffffffffc0400000 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]\n"
			     "ffffffffc0400080 t bpf_prog_0000000000000001\t[bpf]\n"
			     "ffff800000000000 t far_away\t[far]\n";

static struct kernel_sym *parse(const char *text)
{
	struct kernel_sym *sym = NULL;

	assert_int_equal(kernel_sym_parse(text, strlen(text), &sym), KERNEL_SYM_OK);
	return sym;
}

static void each_address_has_the_name_of_its_symbol(void **state)
{
	static const struct {
		uint64_t addr;
		const char *name; /* NULL: none */
		const char *module;
		uint64_t start;
	} rows[] = {
		{ 0, NULL, NULL, 0 },
		{ 0x1000, NULL, NULL, 0 },
		{ 0xffffffff80ffffff, NULL, NULL, 0 },
		{ 0xffffffff81000000, "srso_alias_untrain_ret", "", 0xffffffff81000000 },
		{ 0xffffffff81000100, "__pfx_do_one", "", 0xffffffff81000100 },
		{ 0xffffffff8100010f, "__pfx_do_one", "", 0xffffffff81000100 },
		{ 0xffffffff81000110, "do_one", "", 0xffffffff81000110 },
		{ 0xffffffff810001ff, "do_one", "", 0xffffffff81000110 },
		{ 0xffffffff81000200, "__global_alias", "", 0xffffffff81000200 },
		{ 0xffffffff81000300, "apple", "", 0xffffffff81000300 },
		{ 0xffffffff8100047f, "last_in_text", "", 0xffffffff81000400 },
		{ 0xffffffff81000480, NULL, NULL, 0 },
		{ 0xffffffff82000010, NULL, NULL, 0 },
		{ 0xffffffffc0100000, "mod_init", "one", 0xffffffffc0100000 },
		{ 0xffffffffc0100040, "mod_work", "one", 0xffffffffc0100040 },
		{ 0xffffffffc01fffff, "mod_work", "one", 0xffffffffc0100040 },
		{ 0xffffffffc0200000, "second_module", "two", 0xffffffffc0200000 },
		{ 0xffffffffc0300000, NULL, NULL, 0 },
		{ 0xffffffffc0400000, "bpf_prog_6deef7357e7b4530_sd_fw_egress", "bpf",
			0xffffffffc0400000 },
		{ 0xffffffffc04fffff, "bpf_prog_0000000000000001", "bpf", 0xffffffffc0400080 },
		{ 0xffffffffc0500080, NULL, NULL, 0 },
		{ 0xffff800000000010, "far_away", "far", 0xffff800000000000 },
		{ 0xffff800000100000, NULL, NULL, 0 },
		{ UINT64_MAX, NULL, NULL, 0 },
	};
	struct kernel_sym *sym = parse(sample);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kernel_name got = { 0 };

		print_message("row %zu\n", i);
		assert_int_equal(kernel_sym_find(sym, rows[i].addr, &got), rows[i].name != NULL);
		if (!rows[i].name)
			continue;
		assert_string_equal(got.name, rows[i].name);
		assert_string_equal(got.module, rows[i].module);
		assert_int_equal(got.start, rows[i].start);
	}
	kernel_sym_free(sym);
}

static void hidden_addresses_are_told_apart_from_no_symbols(void **state)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t foo\t[bar]\n";
	static const char data[] = "ffffffff82000000 D data\n";
	struct kernel_sym *sym = NULL;

	(void)state;
	assert_int_equal(kernel_sym_parse(hidden, sizeof(hidden) - 1, &sym), KERNEL_SYM_HIDDEN);
	assert_int_equal(kernel_sym_parse(data, sizeof(data) - 1, &sym), KERNEL_SYM_EMPTY);
	assert_int_equal(kernel_sym_parse("", 0, &sym), KERNEL_SYM_EMPTY);
	assert_null(sym);
}

/* Names are kept NUL by NUL: what follows one would be taken for names of their own. */
static void a_nul_in_a_name_is_a_broken_line(void **state)
{
	static const char text[] = "1000 t __pfx_f\n1010 t f\0\1\n1020 t g\n";
	struct kernel_sym_stats stats;
	struct kernel_sym *sym = NULL;
	struct kernel_name got;

	(void)state;
	assert_int_equal(kernel_sym_parse(text, sizeof(text) - 1, &sym), KERNEL_SYM_OK);
	kernel_sym_stats(sym, &stats);
	assert_int_equal(stats.bad, 1);
	assert_true(kernel_sym_find(sym, 0x1020, &got));
	assert_string_equal(got.name, "g");
	kernel_sym_free(sym);
}

static void broken_lines_are_counted_and_skipped(void **state)
{
	struct kernel_sym_stats stats;
	struct kernel_name got;
	struct kernel_sym *sym = parse("\nxyz T foo\nffff T\nffff TT foo\n1ffffffffffffffff T foo\n"
				       "ffff T \001foo\nffff T good\n10000 T cut");

	(void)state;
	kernel_sym_stats(sym, &stats);
	assert_int_equal(stats.bad, 6);
	assert_int_equal(stats.symbols, 1);
	assert_true(kernel_sym_find(sym, 0x10000, &got));
	assert_string_equal(got.name, "good");
	kernel_sym_free(sym);
}

static void chunks_do_not_show_in_any_name(void **state)
{
	struct buf text = BUF_INIT;
	struct kernel_sym *sym;
	uint64_t addr = 0xffffffff81000000;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++, addr += i % 50 ? 48 : 200000)
		assert_int_equal(
			buf_printf(&text, "%lx t __pfx_f%u\n%lx t f%u\n", addr, i, addr + 16, i),
			0);
	sym = parse(text.data);
	addr = 0xffffffff81000000;
	for (unsigned int i = 0; i < 1000; i++, addr += i % 50 ? 48 : 200000) {
		struct kernel_name got;
		char name[32];

		snprintf(name, sizeof(name), "__pfx_f%u", i);
		assert_true(kernel_sym_find(sym, addr + 15, &got));
		assert_string_equal(got.name, name);
		assert_true(kernel_sym_find(sym, addr + 16, &got));
		assert_string_equal(got.name, name + strlen("__pfx_"));
		assert_int_equal(got.start, addr + 16);
	}
	kernel_sym_free(sym);
	buf_done(&text);
}

/* Every line of code whose address is its alone must give its own name, and the byte before it the
 * name of another or none. */
static void this_kernels_symbols_are_all_found(void **state)
{
	struct buf text = BUF_INIT;
	struct kernel_sym_stats stats;
	struct kernel_sym *sym = NULL;
	uint64_t begin, took, before = 0;
	size_t found = 0, shared = 0;
	char *line, *save = NULL;
	int result;

	(void)state;
	assert_int_equal(fd_read_path("/proc/kallsyms", 64 << 20, &text), 0);
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	result = kernel_sym_parse(text.data, text.len, &sym);
	took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	if (result == KERNEL_SYM_HIDDEN) {
		print_message("this kernel hides its addresses\n");
		buf_done(&text);
		skip();
	}
	assert_int_equal(result, KERNEL_SYM_OK);
	kernel_sym_stats(sym, &stats);
	assert_int_equal(stats.bad + stats.dropped, 0);
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[1024], type, module[256] = "";
		struct kernel_name got;
		unsigned long addr;

		assert_true(
			sscanf(line, "%lx %c %1023s [%255[^]]", &addr, &type, name, module) >= 3);
		if (!strchr("tTwW", type) || strcmp(name, "_etext") == 0 ||
			strcmp(name, "_einittext") == 0)
			continue;
		if (!kernel_sym_find(sym, addr, &got))
			fail_msg("not found: %s", line);
		assert_int_equal(got.start, addr);
		assert_string_equal(got.module, module);
		found += strcmp(got.name, name) == 0;
		shared += strcmp(got.name, name) != 0;
		if (addr > before && kernel_sym_find(sym, addr - 1, &got))
			assert_true(got.start < addr);
		before = addr;
	}
	print_message("%zu symbols in %zu bytes, parsed in %llu us; %zu found, %zu aliases\n",
		stats.symbols, stats.memory_bytes, (unsigned long long)(took / 1000), found,
		shared);
	assert_int_equal(found, stats.symbols);
	assert_true(shared < stats.symbols / 10);
	assert_true(stats.memory_bytes < stats.symbols * 25);
	kernel_sym_free(sym);
	buf_done(&text);
}

static void any_cut_or_flipped_text_is_survived(void **state)
{
	char text[sizeof(sample)];

	(void)state;
	srand(4);
	for (int round = 0; round < 3000; round++) {
		struct kernel_sym *sym = NULL;
		struct kernel_name got;

		memcpy(text, sample, sizeof(text));
		for (int flips = rand() % 20; flips > 0; flips--)
			text[(size_t)rand() % sizeof(text)] = (char)rand();
		if (kernel_sym_parse(text, (size_t)rand() % sizeof(text), &sym) != KERNEL_SYM_OK)
			continue;
		for (uint64_t at = 0; at < 64; at++)
			if (kernel_sym_find(sym, 0xffffffff81000000 + at * 32, &got))
				assert_true(strlen(got.name) > 0);
		kernel_sym_free(sym);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_the_name_of_its_symbol),
		cmocka_unit_test(hidden_addresses_are_told_apart_from_no_symbols),
		cmocka_unit_test(a_nul_in_a_name_is_a_broken_line),
		cmocka_unit_test(broken_lines_are_counted_and_skipped),
		cmocka_unit_test(chunks_do_not_show_in_any_name),
		cmocka_unit_test(this_kernels_symbols_are_all_found),
		cmocka_unit_test(any_cut_or_flipped_text_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
