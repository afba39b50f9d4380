/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranking.c - folded lines, and the rows that come of them. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/ranking.h"

static const struct ranking_only all = { 0 };

struct fixture {
	struct ranking *ranking;
	struct ranking_rows rows;
	struct buf text;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	*state = &f;
	return ranking_new(&f.ranking);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ranking_free(f->ranking);
	vec_done(&f->rows);
	buf_done(&f->text);
	return 0;
}

static int put(struct fixture *f, const char *line)
{
	return ranking_line(f->ranking, line, strlen(line));
}

static void put_all(struct fixture *f)
{
	static const char *const lines[] = {
		"web;10;node;main;run;hash 5",
		"web;10;node;main;run 3",
		"web;11;node;main;run;hash 1",
		"db;20;redis;main;loop;hash 4",
		"db;20;redis;main;loop;read;vfs_read_[k] 6",
		"host;1;init 2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(put(f, lines[i]), 0);
}

/* "NAME PID CONTAINER HOTTEST SELF/TOTAL" of each row, in the order asked for. */
static void expect(struct fixture *f, enum ranking_order order, const char *text)
{
	ranking_sort(&f->rows, order);
	buf_clear(&f->text);
	buf_puts(&f->text, "");
	vec_each (&f->rows, row)
		buf_printf(&f->text, "%s|%s|%s|%s|%d/%d\n", row->name, row->pid, row->container,
			row->hottest, (int)row->self, (int)row->total);
	assert_string_equal(f->text.data, text);
}

static void functions_count_once_a_stack(void **state)
{
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(put(f, "web;10;node;main;run;run;run 1"), 0);
	assert_int_equal(ranking_total(f->ranking), 22);
	assert_int_equal(ranking_functions(f->ranking, &all, &f->rows), 0);
	expect(f, RANKING_BY_SELF,
		"hash||||10/10\nvfs_read_[k]||||6/6\nrun||||4/10\nmain||||0/20\nloop||||0/10\n"
		"read||||0/6\n");
	expect(f, RANKING_BY_TOTAL,
		"main||||0/20\nhash||||10/10\nloop||||0/10\nrun||||4/10\nread||||0/6\n"
		"vfs_read_[k]||||6/6\n");
	expect(f, RANKING_BY_NAME,
		"hash||||10/10\nloop||||0/10\nmain||||0/20\nread||||0/6\nrun||||4/10\n"
		"vfs_read_[k]||||6/6\n");
}

static void waits_are_those_of_states_resources_and_innermost_functions(void **state)
{
	static const struct ranking_only waits = { .waits = true };
	struct fixture *f = *state;

	assert_int_equal(put(f, "web;1;a;main;ask;recv;tcp_[k];[waits for tcp 1.2.3.4:5];"
				"[blocked on socket] 7"), 0);
	assert_int_equal(put(f, "web;1;a;main;ask;lock;futex_[k];[blocked on futex] 3"), 0);
	assert_int_equal(ranking_functions(f->ranking, &waits, &f->rows), 0);
	expect(f, RANKING_BY_SELF,
		"[blocked on socket]||||7/7\n[waits for tcp 1.2.3.4:5]||||7/7\nrecv||||7/7\n"
		"[blocked on futex]||||3/3\nlock||||3/3\nask||||0/10\nmain||||0/10\n");
}

static void samples_with_a_guess_are_counted(void **state)
{
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(ranking_guessed(f->ranking), 0);
	assert_int_equal(put(f, "web;10;node;main;[guessed];run 4"), 0);
	assert_int_equal(put(f, "web;10;node;[truncated];main;[guessed];run 2"), 0);
	assert_int_equal(put(f, "[guessed];[guessed] 7"), -EBADMSG);
	assert_int_equal(ranking_guessed(f->ranking), 6);
	assert_int_equal(ranking_clear(f->ranking), 0);
	assert_int_equal(ranking_guessed(f->ranking), 0);
}

static void functions_of_one_process_or_container(void **state)
{
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(
		ranking_functions(f->ranking, &(struct ranking_only){ .pid = "11" }, &f->rows), 0);
	expect(f, RANKING_BY_SELF, "hash||||1/1\nmain||||0/1\nrun||||0/1\n");
	assert_int_equal(ranking_functions(
				 f->ranking, &(struct ranking_only){ .container = "db" }, &f->rows),
		0);
	expect(f, RANKING_BY_SELF,
		"vfs_read_[k]||||6/6\nhash||||4/4\nloop||||0/10\nmain||||0/10\nread||||0/6\n");
}

static void processes_have_their_hottest_leaf(void **state)
{
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(ranking_processes(f->ranking, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL,
		"redis|20|db|vfs_read_[k]|10/10\nnode|10|web|hash|8/8\ninit|1|host||2/2\n"
		"node|11|web|hash|1/1\n");
	assert_int_equal(ranking_containers(f->ranking, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL, "db|||vfs_read_[k]|10/10\nweb|||hash|9/9\nhost||||2/2\n");
}

static void callers_go_outward_by_the_chain(void **state)
{
	static const char *const chain[] = { "hash", "run", "main" };
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(ranking_callers(f->ranking, &all, chain, 1, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL, "run||||0/6\nloop||||0/4\n");
	assert_int_equal(ranking_callers(f->ranking, &all, chain, 2, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL, "main||||0/6\n");
	assert_int_equal(ranking_callers(f->ranking, &all, chain, 3, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL, "node||||0/6\n");
}

static void a_function_that_calls_itself_is_its_own_caller_once(void **state)
{
	static const char *const chain[] = { "f" };
	struct fixture *f = *state;

	assert_int_equal(put(f, "c;1;x;main;f;f;f 3"), 0);
	assert_int_equal(ranking_callers(f->ranking, &all, chain, 1, &f->rows), 0);
	expect(f, RANKING_BY_TOTAL, "f||||0/3\nmain||||0/3\n");
}

static void a_chain_that_did_not_run_has_no_callers(void **state)
{
	static const char *const chain[] = { "gone" };
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(ranking_callers(f->ranking, &all, chain, 1, &f->rows), 0);
	assert_int_equal(f->rows.len, 0);
}

static void an_interval_knows_nothing_of_the_one_before(void **state)
{
	struct fixture *f = *state;

	put_all(f);
	assert_int_equal(ranking_clear(f->ranking), 0);
	assert_int_equal(ranking_total(f->ranking), 0);
	assert_int_equal(ranking_functions(f->ranking, &all, &f->rows), 0);
	assert_int_equal(f->rows.len, 0);
}

static void what_is_no_line_is_left_out(void **state)
{
	static const char *const lines[] = { "", " ", "1", " 1", "a;b 1", "a;b;c", "a;b;c ",
		"a;b;c x", "a;b;c 1x", "a;b;c;d 1234567890123456789012", "a;b;c;d5" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (put(f, lines[i]) != -EBADMSG)
			fail_msg("%s was taken", lines[i]);
	assert_int_equal(ranking_total(f->ranking), 0);
	assert_int_equal(put(f, "a;b;c d 5"), 0);
	assert_int_equal(put(f, "a;b;c;;e 1"), 0);
	assert_int_equal(ranking_total(f->ranking), 6);
}

static void stacks_over_the_limit_are_counted(void **state)
{
	struct fixture *f = *state;
	char line[64];

	for (int i = 0; i < RANKING_STACKS_MAX + 3; i++) {
		snprintf(line, sizeof(line), "a;1;b;f 2");
		assert_int_equal(put(f, line), 0);
	}
	assert_int_equal(ranking_dropped(f->ranking), 6);
	assert_int_equal(ranking_total(f->ranking), 2 * (RANKING_STACKS_MAX + 3));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(functions_count_once_a_stack),
		TEST(waits_are_those_of_states_resources_and_innermost_functions),
		TEST(samples_with_a_guess_are_counted),
		TEST(functions_of_one_process_or_container),
		TEST(processes_have_their_hottest_leaf),
		TEST(callers_go_outward_by_the_chain),
		TEST(a_function_that_calls_itself_is_its_own_caller_once),
		TEST(a_chain_that_did_not_run_has_no_callers),
		TEST(an_interval_knows_nothing_of_the_one_before),
		TEST(what_is_no_line_is_left_out),
		TEST(stacks_over_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
