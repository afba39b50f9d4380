/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps as runtimes write them, cut anywhere, against a model that has a name for each byte. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "jitmap/perfmap.h"

static const struct perfmap_limits usual = PERFMAP_LIMITS;

static void feed(struct perfmap *map, const char *text)
{
	assert_int_equal(perfmap_feed(map, text, strlen(text)), 0);
}

static const char *find(struct perfmap *map, uint64_t addr)
{
	const char *name = NULL;

	return perfmap_find(map, addr, &name) ? name : NULL;
}

static void expect(struct perfmap *map, uint64_t addr, const char *name)
{
	const char *got = find(map, addr);

	if (!name)
		assert_null(got);
	else
		assert_non_null(got);
	if (name)
		assert_string_equal(got, name);
}

static struct perfmap_stats stats(const struct perfmap *map)
{
	struct perfmap_stats out;

	perfmap_stats(map, &out);
	return out;
}

static void every_spelling_of_a_line_is_read(void **state)
{
	static const struct {
		const char *line;
		uint64_t addr;
		const char *name; /* NULL: the line is bad */
	} rows[] = {
		{ "7f00 10 foo", 0x7f00, "foo" },
		{ "0x7f00 0x10 foo", 0x7f0f, "foo" },
		{ "0X7F00 0X10 foo", 0x7f00, "foo" },
		{ "00007F0000000abc 1f  void [asm] A.B`1[T]::C(class D`2<!0,int32>)[Tier0] ",
			0x7f0000000abc, "void [asm] A.B`1[T]::C(class D`2<!0,int32>)[Tier0] " },
		{ "\t7f00\t\t10 \tLazyCompile:~f node:internal:1 x", 0x7f00,
			"LazyCompile:~f node:internal:1 x" },
		{ "00000000000000000000007f00 000000000000000000000010 zeros", 0x7f00, "zeros" },
		{ "7f00 10 a;b", 0x7f00, "a;b" },
		{ "0 1 zero", 0, "zero" },
		{ "fffffffffffffffe 1 high", UINT64_MAX - 1, "high" },
		{ "7f00 ffffffff long", 0x7f00, "long" },
		{ "7f00 0 foo", 0x7f00, NULL },
		{ "7f00 100000000 foo", 0x7f00, NULL },
		{ "7f00 10000000000000000 foo", 0x7f00, NULL },
		{ "10000000000000000 10 foo", 0, NULL },
		{ "ffffffffffffffff 1 foo", UINT64_MAX, NULL },
		{ "fffffffffffffff0 11 foo", UINT64_MAX - 8, NULL },
		{ "7f00 1g foo", 0x7f00, NULL },
		{ "7f0g 10 foo", 0x7f0, NULL },
		{ "0x 10 foo", 0, NULL },
		{ "-7f00 10 foo", 0x7f00, NULL },
		{ "7f00", 0x7f00, NULL },
		{ "foo bar", 0xf00, NULL },
		{ "", 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perfmap map;

		print_message("row %zu: %s\n", i, rows[i].line);
		assert_int_equal(perfmap_init(&map, &usual), 0);
		feed(&map, rows[i].line);
		feed(&map, "\n");
		expect(&map, rows[i].addr, rows[i].name);
		assert_int_equal(stats(&map).bad, rows[i].name ? 0 : 1);
		assert_int_equal(stats(&map).lines, rows[i].name ? 1 : 0);
		perfmap_done(&map);
	}
}

static void a_symbol_covers_its_size_and_no_more(void **state)
{
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	expect(&map, 0x1000, NULL);
	feed(&map, "2000 10 b\n1000 10 a\n");
	expect(&map, 0xfff, NULL);
	expect(&map, 0x1000, "a");
	expect(&map, 0x100f, "a");
	expect(&map, 0x1010, NULL);
	expect(&map, 0x2000, "b");
	expect(&map, UINT64_MAX, NULL);
	perfmap_done(&map);
}

static void a_later_line_wins_where_it_lies_and_only_there(void **state)
{
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	feed(&map, "1000 100 outer\n1040 10 inner\n10f0 20 tail\nff0 20 head\n");
	expect(&map, 0xff0, "head");
	expect(&map, 0x100f, "head");
	expect(&map, 0x1010, "outer");
	expect(&map, 0x1040, "inner");
	expect(&map, 0x1050, "outer");
	expect(&map, 0x10f0, "tail");
	expect(&map, 0x110f, "tail");
	feed(&map, "1040 10 again\n1000 8 start\n");
	expect(&map, 0x1040, "again");
	expect(&map, 0x1004, "start");
	expect(&map, 0x1008, "head");
	feed(&map, "0 10000 all\n");
	expect(&map, 0x1040, "all");
	perfmap_done(&map);
}

static void a_line_without_a_name_hides_the_old_one(void **state)
{
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	feed(&map, "1000 100 old\n1000 10\n1010 10 \n");
	expect(&map, 0x1000, NULL);
	expect(&map, 0x1010, NULL);
	expect(&map, 0x1020, "old");
	assert_int_equal(stats(&map).bad, 0);
	perfmap_done(&map);
}

static void a_cut_line_waits_for_its_newline(void **state)
{
	static const char text[] = "1000 10 first one\n2000 10 second one\n3000 10 third";

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct perfmap map;

		assert_int_equal(perfmap_init(&map, &usual), 0);
		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t left = sizeof(text) - 1 - at;

			assert_int_equal(
				perfmap_feed(&map, text + at, left < step ? left : step), 0);
		}
		expect(&map, 0x1000, "first one");
		expect(&map, 0x2000, "second one");
		expect(&map, 0x3000, NULL);
		feed(&map, " one\n");
		expect(&map, 0x3000, "third one");
		perfmap_done(&map);
	}
}

static void a_reset_forgets_the_names_and_the_cut_line(void **state)
{
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	feed(&map, "1000 10 old\n2000 10 cu");
	assert_int_equal(perfmap_reset(&map), 0);
	feed(&map, "3000 10 new\n");
	expect(&map, 0x1000, NULL);
	expect(&map, 0x3000, "new");
	assert_int_equal(stats(&map).bad, 0);
	perfmap_done(&map);
}

static void an_endless_line_costs_no_memory_and_keeps_a_cut_name(void **state)
{
	static char piece[64 * 1024];
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	memset(piece, 'x', sizeof(piece));
	feed(&map, "1000 10 ");
	for (int i = 0; i < 256; i++)
		assert_int_equal(perfmap_feed(&map, piece, sizeof(piece)), 0);
	assert_true(stats(&map).memory_bytes < 64 * 1024);
	feed(&map, "\n2000 10 next\n");
	assert_int_equal(strlen(find(&map, 0x1000)), PERFMAP_NAME_MAX);
	expect(&map, 0x2000, "next");
	assert_int_equal(stats(&map).cut, 1);
	perfmap_done(&map);
}

static void a_nul_ends_the_name(void **state)
{
	static const char text[] = "1000 10 ab\0cd\n2000 10 ok\n";
	struct perfmap map;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	assert_int_equal(perfmap_feed(&map, text, sizeof(text) - 1), 0);
	expect(&map, 0x1000, "ab");
	expect(&map, 0x2000, "ok");
	perfmap_done(&map);
}

#define SPACE 2048

static void random_lines_agree_with_a_model(void **state)
{
	static unsigned int model[SPACE];

	(void)state;
	srand(3);
	for (int round = 0; round < 60; round++) {
		struct perfmap map;
		unsigned int lines = 1 + (unsigned int)rand() % 2000;

		memset(model, 0, sizeof(model));
		assert_int_equal(perfmap_init(&map, &usual), 0);
		for (unsigned int i = 1; i <= lines; i++) {
			unsigned int start = (unsigned int)rand() % SPACE;
			unsigned int size = 1 + (unsigned int)rand() % (rand() % 8 ? 16 : 400);
			char line[64], name[16];

			if (size > SPACE - start)
				size = SPACE - start;
			snprintf(line, sizeof(line), "%x %x n%u\n", start, size, i);
			feed(&map, line);
			for (unsigned int at = start; at < start + size; at++)
				model[at] = i;
			if (rand() % (round + 1) != 0)
				continue;
			for (unsigned int at = 0; at < SPACE; at += 1 + (unsigned int)rand() % 64) {
				snprintf(name, sizeof(name), "n%u", model[at]);
				expect(&map, at, model[at] ? name : NULL);
			}
		}
		for (unsigned int at = 0; at < SPACE; at++) {
			char name[16];

			snprintf(name, sizeof(name), "n%u", model[at]);
			expect(&map, at, model[at] ? name : NULL);
		}
		perfmap_done(&map);
	}
}

static void a_rundown_written_over_and_over_does_not_grow(void **state)
{
	struct perfmap map;
	size_t after_two = 0;

	(void)state;
	assert_int_equal(perfmap_init(&map, &usual), 0);
	for (int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 20000; i++) {
			char line[128];

			snprintf(line, sizeof(line),
				"%x 40 void [app] Some.Namespace.Class::Method%u(int32)[Tier%d]\n",
				0x7f0000 + i * 64, i, round);
			feed(&map, line);
		}
		if (round == 2)
			after_two = stats(&map).memory_bytes;
		assert_non_null(find(&map, 0x7f0000 + 64 * 7));
	}
	expect(&map, 0x7f0000 + 64 * 777,
		"void [app] Some.Namespace.Class::Method777(int32)[Tier19]");
	assert_in_range(stats(&map).ranges, 20000, 30000);
	assert_true(stats(&map).memory_bytes <= 2 * after_two);
	assert_int_equal(stats(&map).full, 0);
	perfmap_done(&map);
}

static void what_is_over_a_limit_is_dropped_and_counted(void **state)
{
	static const struct perfmap_limits rows[] = { { 1000, 1 << 20 }, { 1 << 20, 10000 } };

	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		struct perfmap map;

		print_message("row %zu\n", r);
		assert_int_equal(perfmap_init(&map, &rows[r]), 0);
		for (unsigned int i = 0; i < 5000; i++) {
			char line[64];

			snprintf(line, sizeof(line), "%x 10 name %u\n", 0x1000 + i * 16, i);
			feed(&map, line);
		}
		expect(&map, 0x1000, "name 0");
		expect(&map, 0x1000 + 16 * 4999, NULL);
		assert_true(stats(&map).full > 3000);
		assert_int_equal(stats(&map).full + stats(&map).lines, 5000);
		assert_true(stats(&map).ranges <= rows[r].ranges_max);
		assert_true(map.names.len <= rows[r].names_bytes_max);
		assert_int_equal(perfmap_reset(&map), 0);
		feed(&map, "1000 10 again\n");
		expect(&map, 0x1000, "again");
		perfmap_done(&map);
	}
}

static void a_million_lines_are_read_in_time(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t begin, took;
	struct perfmap map;

	(void)state;
	for (unsigned int i = 0; i < 1000000; i++)
		assert_int_equal(
			buf_printf(&text, "%x %x LazyCompile:~name%u /app/some/file.js:%u\n",
				(i * 2654435761U) >> 4 << 4, 64 + i % 512, i, i % 1000),
			0);
	assert_int_equal(perfmap_init(&map, &usual), 0);
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t at = 0; at < text.len; at += 65536) {
		size_t left = text.len - at;

		assert_int_equal(
			perfmap_feed(&map, text.data + at, left < 65536 ? left : 65536), 0);
		find(&map, at);
	}
	took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	print_message("%zu bytes, %llu ms, %zu ranges, %zu bytes held\n", text.len,
		(unsigned long long)(took / NSEC_PER_MSEC), stats(&map).ranges,
		stats(&map).memory_bytes);
	assert_int_equal(stats(&map).lines, 1000000);
	assert_true(took < 20 * NSEC_PER_SEC);
	perfmap_done(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_of_a_line_is_read),
		cmocka_unit_test(a_symbol_covers_its_size_and_no_more),
		cmocka_unit_test(a_later_line_wins_where_it_lies_and_only_there),
		cmocka_unit_test(a_line_without_a_name_hides_the_old_one),
		cmocka_unit_test(a_cut_line_waits_for_its_newline),
		cmocka_unit_test(a_reset_forgets_the_names_and_the_cut_line),
		cmocka_unit_test(an_endless_line_costs_no_memory_and_keeps_a_cut_name),
		cmocka_unit_test(a_nul_ends_the_name),
		cmocka_unit_test(random_lines_agree_with_a_model),
		cmocka_unit_test(a_rundown_written_over_and_over_does_not_grow),
		cmocka_unit_test(what_is_over_a_limit_is_dropped_and_counted),
		cmocka_unit_test(a_million_lines_are_read_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
