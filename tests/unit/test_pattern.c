/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - what an expression matches, and what one that is made to harm costs. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "store/pattern.h"

#define GROWTH_KB_MAX (16 << 10)
#define CPU_NS_MAX (200 * NSEC_PER_MSEC)
#define NAMES 2000
#ifdef __SANITIZE_ADDRESS__
#define TIMES 20 /* as much */
#else
#define TIMES 1
#endif

static int find(struct pattern_search *search, const char *name)
{
	return pattern_search_find(search, name, strlen(name));
}

static void a_name_matches_as_pcre2_says(void **state)
{
	static const struct {
		const char *pattern, *name;
		int found;
	} rows[] = {
		{ "read", "vfs_read", 1 },
		{ "^read", "vfs_read", 0 },
		{ "^(a|b)+$", "abba", 1 },
		{ "x{2}", "axxb", 1 },
		{ "[[:digit:]]$", "v8", 1 },
		{ "(.)\\1", "book", 1 },
		{ "\\bmain\\b", "do_main", 0 },
		{ "", "any", 1 },
		{ "^$", "", 1 },
		{ "\xc3\xa9", "caf\xc3\xa9", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(pattern_freep) struct pattern *pattern = NULL;
		_cleanup_(pattern_search_done) struct pattern_search search = { 0 };
		struct why why;

		assert_int_equal(pattern_new(rows[i].pattern, &pattern, &why), 0);
		assert_int_equal(pattern_search_init(&search, pattern), 0);
		/* And as it was found before. */
		for (int again = 0; again < 2; again++)
			if (find(&search, rows[i].name) != rows[i].found)
				fail_msg("%s, %s", rows[i].pattern, rows[i].name);
	}
}

static void what_is_no_expression_is_refused_with_its_place(void **state)
{
	static const char *const rows[] = { "(", "a)", "[", "*", "a{2,1}", "\\C", "(*UTF)a",
		"(?C1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pattern *pattern = NULL;
		struct why why;

		if (pattern_new(rows[i], &pattern, &why) != -EINVAL)
			fail_msg("%s was taken", rows[i]);
		assert_non_null(strstr(why.text, "at character "));
	}
}

static long memory_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* All names of a store that was filled to that end. -errno, or how many matched. */
static int ask(const char *text)
{
	_cleanup_(pattern_freep) struct pattern *pattern = NULL;
	_cleanup_(pattern_search_done) struct pattern_search search = { 0 };
	struct why why;
	int err = pattern_new(text, &pattern, &why), found = 0;

	if (err == 0)
		err = pattern_search_init(&search, pattern);
	for (int i = 0; i < NAMES && err >= 0; i++) {
		_cleanup_(buf_done) struct buf name = BUF_INIT;

		for (int j = 0; j < 100; j++)
			buf_puts(&name, "aaaaaaaaaa");
		buf_printf(&name, "%d!", i);
		err = pattern_search_find(&search, name.data, name.len);
		found += err > 0;
	}
	return err < 0 ? err : found;
}

static void no_expression_costs_more_than_its_limits(void **state)
{
	static const char *const rows[] = {
		"((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", /* 60 bytes */
		"(a+)+$",
		"(a|aa)+$",
		"(a*)*b",
		"(.*)*(.*)*(.*)*[bc]$",
		"((((a{1,99}){1,99}){1,99}){1,99}){1,99}",
		"(((a{99}){99}){99}){99}",
		"(?:a?){65535}(?:a?){65535}b",
		"(a+)(\\1)+\\1+\\1+b",
		"^(a(?1)?a|a)$",
		"(?R)?a",
		"(?=(a+))\\1*b|(?<=aaaa)((a*)*)*c",
	};
	long before_kb;

	(void)state;
	ask("a");
	before_kb = memory_kb();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), used_ns;
		int err = ask(rows[i]);

		used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
		/* One match may be begun at the limit. */
		if (used_ns > (CPU_NS_MAX + CPU_NS_MAX / 4) * TIMES)
			fail_msg("%s: %llu ns, %d", rows[i], (unsigned long long)used_ns, err);
		if (memory_kb() - before_kb > GROWTH_KB_MAX * TIMES)
			fail_msg("%s: %ld kB, %d", rows[i], memory_kb() - before_kb, err);
		if (err < 0 && err != -ETIMEDOUT && err != -EINVAL)
			fail_msg("%s: %d", rows[i], err);
	}
	assert_int_equal(ask("a(\\d*)!$"), NAMES);
	assert_int_equal(ask("(a+)+$"), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_matches_as_pcre2_says),
		cmocka_unit_test(what_is_no_expression_is_refused_with_its_place),
		cmocka_unit_test(no_expression_costs_more_than_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
