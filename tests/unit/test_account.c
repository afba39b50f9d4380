/* SPDX-License-Identifier: Apache-2.0 */
/* test_account.c - which lines the account has as text, and how lost events show in it. */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "agent/account.h"
#include "wire/counter.h"

#define KIND_AND_NAME(id, name, text) { id, name },

static void each_kind_of_lost_event_has_its_own_name(void **state)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} rows[] = { EVENT_LOSSES(KIND_AND_NAME) };
	uint32_t met = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct account account = { 0 };
		json_t *root, *lost;
		const char *old = rows[i].kind == EVENT_TASK ? "who"
			: rows[i].kind == EVENT_DEFERRED     ? "held"
							     : NULL; /* deprecated */

		account.sampler.events_lost[rows[i].kind] = 3;
		assert_int_equal(account_write_json(&account, &out), 0);
		root = json_loadb(out.data, out.len, 0, NULL);
		lost = json_object_get(json_object_get(root, "events"), "lost");
		if (json_integer_value(json_object_get(lost, rows[i].name)) != 3)
			fail_msg("kind %u is not %s", rows[i].kind, rows[i].name);
		assert_int_equal(json_object_size(lost), old ? 2 : 1);
		if (old)
			assert_int_equal(json_integer_value(json_object_get(lost, old)), 3);
		met |= 1U << rows[i].kind;
		json_decref(root);
	}
	/* From the first of enum event_kind to the last. */
	assert_int_equal(met, (1U << (EVENT_CODE + 1)) - (1U << EVENT_STACK));
}

static void losses_are_in_the_text_when_there_are_any(void **state)
{
	_cleanup_(buf_done) struct buf none = BUF_INIT, some = BUF_INIT;
	struct account account = { 0 };

	(void)state;
	assert_int_equal(account_write_text(&account, &none), 0);
	assert_null(strstr(none.data, "events "));
	assert_null(strstr(none.data, "targets "));
	account.sampler.events_lost[EVENT_CGROUP] = 3;
	account.sampler.events_lost[EVENT_EXEC] = 2;
	account.sampler.targets_lost[TARGET_LOST_CGROUP] = 1;
	assert_int_equal(account_write_text(&account, &some), 0);
	assert_non_null(strstr(some.data,
		"\nevents   5 lost: no room in the ring buffer, or memory was short  (exec 2, "
		"cgroup 3)\n"));
	assert_non_null(strstr(some.data,
		"\ntargets  the table of targets was full 1 times  (cgroup 1)\n"));
}

#define ROW(...) COUNTER_OF(struct account, __VA_ARGS__)

static void each_row_with_a_text_is_printed_where_its_number_is_not_0(void **state)
{
	static const struct counter rows[] = { ACCOUNT_COUNTERS(ROW) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf none = BUF_INIT, some = BUF_INIT;
		struct account account = { 0 };
		char line[256];

		if (!rows[i].text)
			continue;
		line[0] = '\n';
		snprintf(line + 1, sizeof(line) - 1, rows[i].text, 77ULL);
		assert_int_equal(account_write_text(&account, &none), 0);
		assert_null(strstr(none.data, line));
		*(uint64_t *)(void *)((char *)&account + rows[i].at + rows[i].size -
			sizeof(uint64_t)) = 77;
		assert_int_equal(account_write_text(&account, &some), 0);
		if (!strstr(some.data, line))
			fail_msg("%s is not printed", rows[i].place);
	}
}

static void what_was_short_is_told_where_stacks_lack_a_table(void **state)
{
	static const struct {
		uint64_t missing, refused, evicted, unsent;
		const char *line; /* NULL: none */
	} rows[] = {
		{ 9, 0, 0, 0, NULL },
		{ 10, 0, 0, 0, ": those who make them got too little of the CPUs\n" },
		{ 10, 3, 2, 5,
			": 3 pages of tables found no room and 2 made room for others; more memory "
			"(--memory, [sample] memory) helps\n" },
		{ 10, 0, 2, 0,
			": 0 pages of tables found no room and 2 made room for others; more memory "
			"(--memory, [sample] memory) helps\n" },
		{ 10, 0, 0, 5,
			": 5 samples could not wait for it; there are fewer at a lower rate\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct account account = { .stacks_total = 1000 };
		const char *found;

		account.stacks_truncated[END_NO_TABLE] = rows[i].missing;
		account.tables.pages_refused = rows[i].refused;
		account.tables.pages_evicted = rows[i].evicted;
		account.sampler.events_lost[EVENT_DEFERRED] = rows[i].unsent;
		assert_int_equal(account_write_text(&account, &out), 0);
		found = strstr(buf_text(&out),
			"\ntables   10 stacks end where there was no unwind table");
		assert_int_equal(found != NULL, rows[i].line != NULL);
		assert_true(!found || strstr(found, rows[i].line));
	}
}

static void the_process_that_lacks_names_most_is_named_with_what_helps(void **state)
{
	static const struct {
		struct account_jit jit;
		const char *text;
	} rows[] = {
		{ { 60, 80, { 4711, "node", false } },
			"\n         node 4711: 75.00 % of its frames have no name: start it with "
			"--perf-basic-prof\n" },
		{ { 60, 80, { 5, "dotnet", false } },
			"\n         dotnet 5: 75.00 % of its frames have no name: start it with "
			"DOTNET_PerfMapEnabled=3,\n         or without a restart, .NET 8 and "
			"later: `stoker record -p 5 --jit`\n" },
		{ { 60, 60, { 1, "java", false } },
			"java 1: 100.00 % of its frames have no name: HotSpot 17 and later\n"
			"         writes a map for `stoker record -p 1 --jit`\n" },
		{ { 60, 80, { 1, "java", true } },
			"java 1: 75.00 % of its frames have no name: HotSpot needs no map;\n"
			"         they are mostly from before stoker had read where its code "
			"is\n" },
		{ { 60, 80, { 6, "Shop.Web", false } }, "no name: `stoker doctor 6` says how" },
		/* CPython needs no map; what makes code in it may. */
		{ { 60, 80, { 2, "python3", false } }, "no name: `stoker doctor 2` says how" },
		{ { 60, 80, { 3, "a\nb\x1b[", false } }, "         a?b?[ 3: 75.00 %" },
		{ { 60, 80, { 0, "", false } }, "without a perf map\nfiles" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct account account = { .frames_total = 100, .unnamed_jit = rows[i].jit };

		account.frames_unnamed[UNNAMED_NO_MAP] = 70;
		assert_int_equal(account_write_text(&account, &out), 0);
		assert_non_null(strstr(out.data, "\njit      70 frames are code compiled at run "
						 "time, without a perf map\n"));
		if (!strstr(out.data, rows[i].text))
			fail_msg("row %zu: %s", i, out.data);
	}
}

static void memory_is_printed_in_megabytes_of_a_million(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct account account = { .agent_rss_max_kb = 10000, .worker.rss_max_kb = 20000 };

	(void)state;
	assert_int_equal(account_write_text(&account, &out), 0);
	assert_non_null(strstr(out.data, "agent 0.000 s CPU, 10.2 MB, workers 0.000 s, 20.5 MB\n"));
}

static void one_is_singular_and_without_stacks_there_is_no_share(void **state)
{
	_cleanup_(buf_done) struct buf none = BUF_INIT, one = BUF_INIT;
	struct account account = { 0 };

	(void)state;
	assert_int_equal(account_write_text(&account, &none), 0);
	assert_non_null(strstr(none.data, "\nstacks   no user stacks\n"));
	account.stacks_total = account.stacks_complete = 1;
	account.worker.symbol_loads = account.tables.tables = 1;
	assert_int_equal(account_write_text(&account, &one), 0);
	assert_non_null(strstr(one.data, "\nstacks   1 user stack, 100.00 % complete\n"));
	assert_non_null(strstr(one.data, " 1 symbol table loaded ("));
	assert_non_null(strstr(one.data, " 1 unwind table ("));
}

static void the_time_of_kernel_halves_is_of_ticks_that_have_one(void **state)
{
	_cleanup_(buf_done) struct buf none = BUF_INIT, some = BUF_INIT;
	struct account account = { 0 };
	struct tick_time *times = account.sampler.times;

	(void)state;
	times[TICK_WHOLE].longest_ns = times[TICK_WHOLE].p999_ns = 7000;
	times[TICK_USER].longest_ns = times[TICK_USER].p999_ns = 7000;
	assert_int_equal(account_write_text(&account, &none), 0);
	assert_non_null(strstr(none.data, "\n         99.9 % of user halves within 7 us, longest"));
	assert_null(strstr(none.data, "kernel halves"));
	times[TICK_KERNEL].longest_ns = times[TICK_KERNEL].p999_ns = 23000;
	assert_int_equal(account_write_text(&account, &some), 0);
	assert_non_null(strstr(some.data,
		"\n         99.9 % of kernel halves (ticks with a kernel stack) within 23 us, "
		"longest 23 us\n"));
}

static void many_frames_of_a_jit_without_a_map_are_worth_advice(void **state)
{
	_cleanup_(buf_done) struct buf few = BUF_INIT, many = BUF_INIT;
	struct account account = { .frames_total = 1000 };

	(void)state;
	account.frames_unnamed[UNNAMED_NO_MAP] = 19;
	assert_int_equal(account_write_text(&account, &few), 0);
	assert_null(strstr(few.data, "stoker doctor PID"));
	account.frames_unnamed[UNNAMED_NO_MAP] = 20;
	assert_int_equal(account_write_text(&account, &many), 0);
	assert_non_null(strstr(many.data, "\njit      20 frames are code"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_lost_event_has_its_own_name),
		cmocka_unit_test(losses_are_in_the_text_when_there_are_any),
		cmocka_unit_test(each_row_with_a_text_is_printed_where_its_number_is_not_0),
		cmocka_unit_test(what_was_short_is_told_where_stacks_lack_a_table),
		cmocka_unit_test(the_process_that_lacks_names_most_is_named_with_what_helps),
		cmocka_unit_test(memory_is_printed_in_megabytes_of_a_million),
		cmocka_unit_test(one_is_singular_and_without_stacks_there_is_no_share),
		cmocka_unit_test(the_time_of_kernel_halves_is_of_ticks_that_have_one),
		cmocka_unit_test(many_frames_of_a_jit_without_a_map_are_worth_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
