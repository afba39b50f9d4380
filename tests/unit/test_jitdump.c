/* SPDX-License-Identifier: Apache-2.0 */
/* Jitdumps as runtimes write them, cut anywhere; and tenancy against a model that plays all of it.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "make_jitdump.h"
#include "jitmap/jitdump.h"

static const struct jitdump_limits usual = JITDUMP_LIMITS;

/* ---- writing ------------------------------------------------------------------------------- */

/* UNWINDING_INFO, as V8 writes before each LOAD */
static void put_unwinding(struct buf *out)
{
	put_prefix(out, 4, 24 + 40, 0);
	for (int i = 0; i < 8; i++)
		put64(out, 0x1111111111111111);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void load(struct jitdump *dump, const struct buf *bytes)
{
	struct why why;

	assert_int_equal(jitdump_init(dump, &usual), 0);
	assert_int_equal(jitdump_feed(dump, bytes->data, bytes->len, &why), 0);
}

static void expect(struct jitdump *dump, uint64_t addr, uint64_t at, const char *name)
{
	struct jitdump_name got = { .name = "(none)" };
	bool found = jitdump_find(dump, addr, at, &got);

	if (found != (name != NULL) || (name && strcmp(got.name, name) != 0))
		fail_msg("%llx at %llu: %s, not %s", (unsigned long long)addr,
			(unsigned long long)at, got.name, name ? name : "(none)");
}

static void expect_line(struct jitdump *dump, uint64_t addr, const char *file, uint32_t line)
{
	struct jitdump_name got;

	assert_true(jitdump_find(dump, addr, UINT64_MAX, &got));
	assert_string_equal(got.file, file);
	assert_int_equal(got.line, line);
}

static struct jitdump_stats stats(const struct jitdump *dump)
{
	struct jitdump_stats out;

	jitdump_stats(dump, &out);
	return out;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void a_name_holds_its_bytes_from_its_time_until_they_are_reused(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct jitdump dump;
	struct jitdump_name got;

	(void)state;
	put_header(&b, 0);
	put_load(&b, 100, 0x1000, 0x100, "first");
	put_load(&b, 200, 0x1080, 0x100, "second");
	put_load(&b, 300, 0x1040, 0x10, "third");
	load(&dump, &b);
	expect(&dump, 0xfff, UINT64_MAX, NULL);
	expect(&dump, 0x1000, UINT64_MAX, "first");
	expect(&dump, 0x1080, UINT64_MAX, "second");
	expect(&dump, 0x1080, 199, "first");
	expect(&dump, 0x1080, 200, "second");
	expect(&dump, 0x1180, UINT64_MAX, NULL);
	expect(&dump, 0x1044, 299, "first");
	expect(&dump, 0x1044, 300, "third");
	expect(&dump, 0x1050, 300, "first");
	assert_true(jitdump_find(&dump, 0x1044, 50, &got));
	assert_string_equal(got.name, "first");
	assert_true(got.early);
	assert_true(jitdump_find(&dump, 0x10ff, 150, &got));
	assert_false(got.early);
	assert_int_equal(got.start, 0x1000);
	jitdump_done(&dump);
}

static void records_cut_anywhere_are_read_and_a_short_last_one_is_held_back(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct line lines[] = { { 0x2000, 5, "b.js" }, { 0x2008, 6, "\xff" } };

	(void)state;
	put_header(&b, 0);
	put_unwinding(&b);
	put_load(&b, 100, 0x1000, 0x100, "first");
	put_lines(&b, 0x2000, lines, 2);
	put_load(&b, 200, 0x2000, 0x10, "last");
	for (size_t step = 1; step <= b.len; step++) {
		struct jitdump dump;
		struct why why;

		assert_int_equal(jitdump_init(&dump, &usual), 0);
		for (size_t at = 0; at < b.len - 1; at += step) {
			size_t left = b.len - 1 - at;

			assert_int_equal(
				jitdump_feed(&dump, b.data + at, left < step ? left : step, &why),
				0);
		}
		expect(&dump, 0x1000, UINT64_MAX, "first");
		expect(&dump, 0x2000, UINT64_MAX, NULL);
		assert_int_equal(jitdump_feed(&dump, b.data + b.len - 1, 1, &why), 0);
		expect(&dump, 0x2000, UINT64_MAX, "last");
		expect_line(&dump, 0x200f, "b.js", 6);
		jitdump_done(&dump);
	}
}

static void a_move_takes_the_name_and_the_lines_along(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct line lines[] = { { 0x1000, 1, "a" }, { 0x1020, 2, "a" } };
	struct jitdump dump;

	(void)state;
	put_header(&b, 0);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 100, 0x1000, 0x40, "f");
	put_move(&b, 200, 0x1000, 0x1020, 0x40);
	put_move(&b, 250, 0x9000, 0xa000, 0x40);
	load(&dump, &b);
	expect(&dump, 0x1000, 150, "f");
	expect(&dump, 0x1000, 200, NULL);
	expect(&dump, 0x1020, UINT64_MAX, "f");
	expect(&dump, 0x105f, UINT64_MAX, "f");
	expect_line(&dump, 0x1030, "a", 1);
	expect_line(&dump, 0x1048, "a", 2);
	assert_int_equal(stats(&dump).moves, 1);
	assert_int_equal(stats(&dump).unmoved, 1);
	jitdump_done(&dump);
}

static void lines_belong_to_the_load_behind_them(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct line good[] = { { 0x1010, 7, "x/y.js" }, { 0x1000, 3, "z.js" },
		{ 0x1020, 70000, "x/y.js" } };
	const struct line stray[] = { { 0x5000, 1, "stray" } };
	const struct line wild[] = { { 0x3000, 1, "ok" }, { 0xffffffffffff0000, 2, "wild" } };
	struct jitdump dump;

	(void)state;
	put_header(&b, 0);
	put_lines(&b, 0x1000, good, 3);
	put_load(&b, 1, 0x1000, 0x40, "f");
	put_lines(&b, 0x5000, stray, 1);
	put_load(&b, 2, 0x2000, 0x40, "g");
	put_lines(&b, 0x3000, wild, 2);
	put_load(&b, 3, 0x3000, 0x40, "h");
	load(&dump, &b);
	expect_line(&dump, 0x100f, "z.js", 3);
	expect_line(&dump, 0x1010, "x/y.js", 7);
	expect_line(&dump, 0x103f, "x/y.js", 70000);
	expect_line(&dump, 0x2000, "", 0);
	expect_line(&dump, 0x3000, "", 0);
	assert_int_equal(stats(&dump).lines_bad, 2);
	jitdump_done(&dump);
}

static void lines_that_all_lie_an_elf_header_too_high_are_put_right(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct line lines[] = { { 0x1040, 1, "a.js" }, { 0x1050, 2, "a.js" } };
	struct jitdump dump;

	(void)state;
	put_header(&b, 0);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 1, 0x1000, 0x20, "JS:~f");
	load(&dump, &b);
	expect_line(&dump, 0x1000, "a.js", 1);
	expect_line(&dump, 0x1010, "a.js", 2);
	jitdump_done(&dump);
}

static void a_dump_with_processor_time_is_read_in_the_order_of_the_file(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct jitdump dump;

	(void)state;
	put_header(&b, 1);
	put_load(&b, 900000, 0x1000, 0x10, "old");
	put_load(&b, 800000, 0x1000, 0x10, "new");
	load(&dump, &b);
	expect(&dump, 0x1000, 5, "new");
	jitdump_done(&dump);
}

static void what_is_no_jitdump_is_refused(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint32_t value;
		int err;
	} rows[] = {
		{ "another magic", 0, 0x4A695445, -EBADMSG },
		{ "the other byte order", 0, 0x4454694A, -ENOTSUP },
		{ "version 2", 4, 2, -ENOTSUP },
		{ "a short header", 8, 39, -EBADMSG },
		{ "an endless header", 8, 0xffffffff, -EBADMSG },
		{ "a record of no size", 44, 0, -EINVAL },
		{ "a record shorter than its head", 44, 15, -EINVAL },
		{ "a record of 4 GiB", 44, 0xffffffff, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		struct jitdump dump;
		struct why why;

		print_message("row %zu: %s\n", i, rows[i].what);
		put_header(&b, 0);
		put_load(&b, 1, 0x1000, 0x10, "f");
		memcpy(b.data + rows[i].at, &rows[i].value, sizeof(uint32_t));
		assert_int_equal(jitdump_init(&dump, &usual), 0);
		assert_int_equal(jitdump_feed(&dump, b.data, b.len, &why), rows[i].err);
		assert_int_equal(jitdump_feed(&dump, b.data, b.len, &why), -EBADMSG);
		expect(&dump, 0x1000, UINT64_MAX, NULL);
		assert_int_equal(jitdump_reset(&dump), 0);
		buf_clear(&b);
		put_header(&b, 0);
		put_load(&b, 1, 0x1000, 0x10, "again");
		assert_int_equal(jitdump_feed(&dump, b.data, b.len, &why), 0);
		expect(&dump, 0x1000, UINT64_MAX, "again");
		jitdump_done(&dump);
	}
}

static void a_longer_header_and_unknown_records_are_passed_over(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const uint32_t longer = 48;
	struct jitdump dump;

	(void)state;
	put_header(&b, 0);
	memcpy(b.data + 8, &longer, sizeof(longer));
	put64(&b, 0x4242424242424242);
	put_prefix(&b, 99, 8, 1);
	put64(&b, 0);
	put_prefix(&b, 3, 0, 1);
	put_load(&b, 1, 0x1000, 0x10, "f");
	load(&dump, &b);
	expect(&dump, 0x1000, UINT64_MAX, "f");
	jitdump_done(&dump);
}

static void senseless_fields_cost_one_record(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct jitdump dump;

	(void)state;
	put_header(&b, 0);
	put_load(&b, 1, 0x1000, 0, "empty");
	put_load(&b, 1, UINT64_MAX - 2, 0x10, "wraps");
	put_prefix(&b, 0, 8, 1);
	put64(&b, 0);
	put_prefix(&b, 2, 16, 1);
	put64(&b, 0x1000);
	put64(&b, UINT64_MAX);
	put_load(&b, 2, 0x1000, 0x10, "good");
	load(&dump, &b);
	expect(&dump, 0x1000, UINT64_MAX, "good");
	assert_int_equal(stats(&dump).bad, 3);
	assert_int_equal(stats(&dump).lines_bad, 1);
	jitdump_done(&dump);
}

static void at_the_limit_the_dead_are_forgotten_and_the_living_stay(void **state)
{
	const struct jitdump_limits limits = { 1000, 1 << 20, 1 << 20 };
	struct jitdump dump;
	struct why why;

	(void)state;
	assert_int_equal(jitdump_init(&dump, &limits), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;
		const struct line line = { 0x1000 + i % 100 * 16, i, i % 2 ? "odd" : "even" };
		char name[32];

		if (i == 0)
			put_header(&b, 0);
		snprintf(name, sizeof(name), "n%u", i);
		put_lines(&b, line.addr, &line, 1);
		put_load(&b, i, 0x1000 + i % 100 * 16, 16, name);
		assert_int_equal(jitdump_feed(&dump, b.data, b.len, &why), 0);
	}
	for (unsigned int i = 19900; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "n%u", i);
		expect(&dump, 0x1000 + i % 100 * 16, UINT64_MAX, name);
		expect_line(&dump, 0x1008 + i % 100 * 16, i % 2 ? "odd" : "even", i);
	}
	assert_int_equal(stats(&dump).full, 0);
	assert_int_equal(stats(&dump).loads, 20000);
	assert_true(stats(&dump).entries <= 1000);
	jitdump_done(&dump);
}

static void what_is_over_a_limit_is_dropped_and_counted(void **state)
{
	const struct jitdump_limits limits = { 1000, 1 << 20, 1 << 10 };
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct jitdump dump;
	struct why why;

	(void)state;
	put_header(&b, 0);
	for (unsigned int i = 0; i < 3000; i++) {
		const struct line line = { 0x1000 + i * 16, i, "f" };

		put_lines(&b, line.addr, &line, 1);
		put_load(&b, i, 0x1000 + i * 16, 16, i ? "n" : "zero");
	}
	assert_int_equal(jitdump_init(&dump, &limits), 0);
	assert_int_equal(jitdump_feed(&dump, b.data, b.len, &why), 0);
	expect(&dump, 0x1000, UINT64_MAX, "zero");
	expect(&dump, 0x1000 + 2999 * 16, UINT64_MAX, NULL);
	assert_int_equal(stats(&dump).loads, 1000);
	assert_int_equal(stats(&dump).full, 2000);
	assert_true(stats(&dump).lines_full > 2500);
	jitdump_done(&dump);
}

#define SPACE 512
#define TIMES 64

static void tenancy_agrees_with_a_model(void **state)
{
	(void)state;
	srand(5);
	for (int round = 0; round < 40; round++) {
		static int64_t model[TIMES][SPACE];
		struct tenancy tenancy = { 0 };
		uint32_t n = 1 + (uint32_t)rand() % 600;

		memset(model, -1, sizeof(model));
		for (uint32_t id = 0; id < n; id++) {
			uint32_t start = (uint32_t)rand() % SPACE, since = (uint32_t)rand() % TIMES;
			uint32_t size = 1 + (uint32_t)rand() % (rand() % 6 ? 9 : 200);

			size = size < SPACE - start ? size : SPACE - start;
			assert_int_equal(tenancy_add(&tenancy, start, size, since), 0);
			for (uint32_t t = since; t < TIMES; t++)
				for (uint32_t a = start; a < start + size; a++)
					if (model[t][a] < 0 ||
						tenancy.tenants.data[model[t][a]].since_ns <= since)
						model[t][a] = id;
			for (int ask = 0; ask < 30; ask++) {
				uint32_t a = (uint32_t)rand() % SPACE, t = (uint32_t)rand() % TIMES;
				struct tenancy_answer got;

				if (!tenancy_find(&tenancy, a, t, &got)) {
					assert_int_equal(model[TIMES - 1][a], -1);
					continue;
				}
				assert_int_equal(got.early, model[t][a] < 0);
				while (model[t][a] < 0)
					t++;
				if (!got.early)
					assert_int_equal(got.id, model[t][a]);
				assert_int_equal(tenancy.tenants.data[got.id].since_ns,
					tenancy.tenants.data[model[t][a]].since_ns);
			}
		}
		tenancy_done(&tenancy);
	}
}

static void overlapping_tenants_do_not_make_it_slow(void **state)
{
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID), took;
	struct tenancy tenancy = { 0 };
	struct tenancy_answer got;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(tenancy_add(&tenancy, 100000 - i, 2 * i + 1, i * 2654435761U), 0);
		if (i % 10 == 0)
			assert_true(tenancy_find(&tenancy, 100000, UINT64_MAX, &got));
	}
	took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	print_message("%llu ms, %zu bytes\n", (unsigned long long)(took / NSEC_PER_MSEC),
		tenancy_memory(&tenancy));
	assert_true(took < 20 * NSEC_PER_SEC);
	tenancy_done(&tenancy);
}

static void spoilt_dumps_are_survived(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct line lines[] = { { 0x1000, 1, "a.js" }, { 0x1004, 2, "b.js" } };

	(void)state;
	put_header(&b, 0);
	for (unsigned int i = 0; i < 20; i++) {
		put_lines(&b, 0x1000, lines, 2);
		put_load(&b, i, 0x1000, 0x20, "name");
		put_move(&b, i, 0x1000, 0x1000 + i * 8, 0x10);
	}
	srand(9);
	for (int round = 0; round < 3000; round++) {
		_cleanup_(freep) char *copy = malloc(b.len);
		struct jitdump_name got;
		struct jitdump dump;
		struct why why;

		memcpy(copy, b.data, b.len);
		for (int i = 0; i < 1 + round % 8; i++)
			copy[40 + (size_t)rand() % (b.len - 40)] = (char)rand();
		assert_int_equal(jitdump_init(&dump, &usual), 0);
		jitdump_feed(&dump, copy, b.len, &why);
		for (uint64_t a = 0xff0; a < 0x1100; a += 4)
			if (jitdump_find(&dump, a, a, &got))
				assert_true(strlen(got.name) > 0 && strlen(got.file) < 4097);
		jitdump_done(&dump);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_holds_its_bytes_from_its_time_until_they_are_reused),
		cmocka_unit_test(records_cut_anywhere_are_read_and_a_short_last_one_is_held_back),
		cmocka_unit_test(a_move_takes_the_name_and_the_lines_along),
		cmocka_unit_test(lines_belong_to_the_load_behind_them),
		cmocka_unit_test(lines_that_all_lie_an_elf_header_too_high_are_put_right),
		cmocka_unit_test(a_dump_with_processor_time_is_read_in_the_order_of_the_file),
		cmocka_unit_test(what_is_no_jitdump_is_refused),
		cmocka_unit_test(a_longer_header_and_unknown_records_are_passed_over),
		cmocka_unit_test(senseless_fields_cost_one_record),
		cmocka_unit_test(at_the_limit_the_dead_are_forgotten_and_the_living_stay),
		cmocka_unit_test(what_is_over_a_limit_is_dropped_and_counted),
		cmocka_unit_test(tenancy_agrees_with_a_model),
		cmocka_unit_test(overlapping_tenants_do_not_make_it_slow),
		cmocka_unit_test(spoilt_dumps_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
