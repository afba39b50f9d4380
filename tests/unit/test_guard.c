/* SPDX-License-Identifier: Apache-2.0 */
/* test_guard.c - when a host is left alone: the decision by mark, boot, kernel and version, and the
 * mark as a file. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "guard/guard.h"

static struct guard_facts facts(const char *boot, const char *kernel, const char *version)
{
	struct guard_facts f = { 0 };

	snprintf(f.boot, sizeof(f.boot), "%s", boot);
	snprintf(f.kernel, sizeof(f.kernel), "%s", kernel);
	snprintf(f.version, sizeof(f.version), "%s", version);
	return f;
}

static void a_host_is_left_alone_after_two_deaths_of_one_kernel_and_version(void **state)
{
	static const struct {
		const char *what;
		const char *boot, *kernel, *version; /* of the mark; NULL: there is none */
		bool running;
		unsigned int deaths;
		enum guard_verdict verdict;
		unsigned int next;
	} rows[] = {
		{ "no mark", NULL, NULL, NULL, false, 0, GUARD_GO, 0 },
		{ "killed on this boot", "b", "k", "v", true, 0, GUARD_GO, 0 },
		{ "killed on this boot after a death", "b", "k", "v", true, 1, GUARD_GO, 1 },
		{ "the first death", "a", "k", "v", true, 0, GUARD_GO, 1 },
		{ "the second", "a", "k", "v", true, 1, GUARD_STAY, 2 },
		{ "idle since, same boot", "b", "k", "v", false, 2, GUARD_STAY, 2 },
		{ "idle since, another boot", "a", "k", "v", false, 2, GUARD_STAY, 2 },
		{ "stopped, then another boot", "a", "k", "v", false, 1, GUARD_GO, 1 },
		{ "another kernel", "a", "l", "v", true, 1, GUARD_GO, 0 },
		{ "another kernel, after both", "a", "l", "v", false, 2, GUARD_GO, 0 },
		{ "another version", "a", "k", "w", true, 1, GUARD_GO, 0 },
		{ "an upgrade after both", "b", "k", "w", false, 2, GUARD_GO, 0 },
	};
	const struct guard_facts now = facts("b", "k", "v");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool any = rows[i].boot;
		struct guard_mark found = { .running = rows[i].running, .deaths = rows[i].deaths };
		struct guard_mark next;
		enum guard_verdict verdict;

		if (any)
			found.facts = facts(rows[i].boot, rows[i].kernel, rows[i].version);
		verdict = guard_decide(any ? &found : NULL, &now, &next);
		if (verdict != rows[i].verdict || next.deaths != rows[i].next ||
			next.running != (verdict == GUARD_GO) ||
			memcmp(&next.facts, &now, sizeof(now)) != 0)
			fail_msg("%s: %d, %u", rows[i].what, verdict, next.deaths);
	}
}

static void an_end_clears_the_mark_and_keeps_late_deaths(void **state)
{
	static const struct {
		bool running;
		unsigned int deaths;
		uint64_t seconds;
		bool kept;
	} rows[] = {
		{ true, 0, 5, false },
		{ true, 1, 5, true },
		{ true, 1, GUARD_FORGET_S - 1, true },
		{ true, 1, GUARD_FORGET_S, false },
		{ false, 2, 5, true },
		{ false, 2, 10 * GUARD_FORGET_S, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct guard_mark mark = { .facts = facts("b", "k", "v"),
			.running = rows[i].running,
			.deaths = rows[i].deaths };
		struct guard_mark next;

		if (guard_after(&mark, rows[i].seconds, &next) != rows[i].kept)
			fail_msg("row %zu", i);
		assert_false(next.running);
		assert_int_equal(next.deaths, mark.deaths);
	}
}

static void the_mark_is_a_file_of_the_store(void **state)
{
	struct guard_mark mark = { .facts = facts("b", "k \"1\"", "v"), .running = true }, found;
	char store[] = "/tmp/stoker-guard-XXXXXX", path[64];
	struct stat st;
	struct why why;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(store));
	snprintf(path, sizeof(path), "%s/" GUARD_FILE, store);
	assert_int_equal(guard_load(store, &found, &why), -ENOENT);
	assert_int_equal(guard_stopped(store, &why), -ENOENT);
	assert_int_equal(guard_save(store, &mark, &why), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(guard_load(store, &found, &why), 0);
	assert_memory_equal(&found, &mark, sizeof(mark));
	assert_int_equal(guard_stopped(store, &why), 0);
	assert_int_equal(guard_load(store, &found, &why), -ENOENT);
	mark.deaths = 1;
	assert_int_equal(guard_save(store, &mark, &why), 0);
	assert_int_equal(guard_stopped(store, &why), 0);
	assert_int_equal(guard_load(store, &found, &why), 0);
	assert_true(!found.running && found.deaths == 1);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("{\"boot\": \"b\", \"deaths\": -1}", file);
	fclose(file);
	assert_int_equal(guard_load(store, &found, &why), -EBADMSG);
	assert_int_equal(guard_forget(store, &why), 0);
	assert_int_equal(guard_forget(store, &why), 0);
	assert_int_equal(rmdir(store), 0);
	assert_int_equal(guard_load(store, &found, &why), -ENOENT);
	assert_int_equal(guard_save(store, &mark, &why), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_is_left_alone_after_two_deaths_of_one_kernel_and_version),
		cmocka_unit_test(an_end_clears_the_mark_and_keeps_late_deaths),
		cmocka_unit_test(the_mark_is_a_file_of_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
