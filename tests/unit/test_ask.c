/* SPDX-License-Identifier: Apache-2.0 */
/* test_ask.c - questions of a store in words, and answers as profiles. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "sink/sink.h"
#include "store/answer.h"
#include "store/ask.h"

#define NOW (1800000000ULL * NSEC_PER_SEC)
#define HOUR (3600 * NSEC_PER_SEC)

static void words_are_files_or_questions(void **state)
{
	static const struct {
		const char *text;
		bool question;
	} rows[] = {
		{ "2h..1h", true },
		{ "1h..", true },
		{ "..", true },
		{ "2026-11-21 03:12..03:20", true },
		{ "container=web", true },
		{ "store=/srv/a,1h..", true },
		{ "1h..,store=../other", true },
		{ "../before.folded", false },
		{ "a/../b.folded", false },
		{ "before.folded", false },
		{ "rate=9.folded", false },
		{ "-", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (ask_looks_like(rows[i].text) != rows[i].question)
			fail_msg("%s", rows[i].text);
}

static void questions_are_read(void **state)
{
	struct pattern_search search;
	struct ask ask;
	struct why why;

	(void)state;
	ask_init(&ask, NOW);
	assert_int_equal(ask_set(&ask, "container", "db", &why), 0);
	assert_int_equal(
		ask_parse(&ask, "2h..1h,container=web,comm=a b,function=^x{1,2}=,$", &why), 0);
	assert_int_equal(ask.query.since_ns, NOW - 2 * HOUR);
	assert_int_equal(ask.query.until_ns, NOW - HOUR);
	assert_int_equal(ask.query.matches_len, 2);
	assert_string_equal(ask.query.matches[0].value, "web");
	assert_string_equal(ask.query.matches[1].value, "a b");
	assert_true(ask_matches(&ask, "comm") && !ask_matches(&ask, "pod"));
	assert_int_equal(pattern_search_init(&search, ask.query.function), 0);
	assert_int_equal(pattern_search_find(&search, "xx=,", 4), 1);
	pattern_search_done(&search);
	assert_string_equal(ask.store, STORE_PATH);
	assert_int_equal(ask_check(&ask, &why), 0);
	ask_done(&ask);
}

static void what_is_no_question_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "1h..,", "neither SINCE..UNTIL nor KEY=VALUE" },
		{ "container=a,web", "web is neither" },
		{ "soon..now", "soon is not a time" },
		{ "colour=red", "no such key: colour; they are store, since" },
		{ "function=(", "function: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ask ask;
		struct why why = { "" };
		int err;

		ask_init(&ask, NOW);
		err = ask_parse(&ask, rows[i].text, &why);
		ask_done(&ask);
		if (err != -EINVAL || !strstr(why.text, rows[i].says))
			fail_msg("%s: %d, %s", rows[i].text, err, why.text);
	}
}

static void add(struct query_answer *answer, const char *stack, uint64_t samples)
{
	assert_int_equal(
		merge_add(&answer->merge, (struct bytes){ (const uint8_t *)stack, strlen(stack) },
			samples * NSEC_PER_SEC / 10),
		0);
}

static void labels_of_an_answer_are_labels_of_its_profile(void **state)
{
	struct query_answer answer;
	_cleanup_(profile_done) struct profile profile;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct sink_options comm = { .by = { PROFILE_KEY_COMM }, .by_len = 1 };
	struct sink_options all = { .by = { PROFILE_KEY_CONTAINER, PROFILE_KEY_COMM,
					    PROFILE_KEY_PID },
		.by_len = 3 };

	(void)state;
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(profile_init(&profile), 0);
	answer.hz = 10;
	assert_int_equal(buf_puts(&answer.by, "container,comm,pid"), 0);
	add(&answer, "web;sh;17;main;read_[k]", 2);
	add(&answer, "db;sh;18;main;read_[k]", 3);
	add(&answer, "?;sh;?;main", 1);
	assert_int_equal(answer_profile(&answer, &profile), 0);
	assert_int_equal(folded_write(&profile, &comm, &out), 0);
	assert_string_equal(out.data, "sh;main 1\nsh;main;read_[k] 5\n");
	buf_clear(&out);
	assert_int_equal(folded_write(&profile, &all, &out), 0);
	assert_string_equal(
		out.data, "?;sh;?;main 1\ndb;sh;18;main;read_[k] 3\nweb;sh;17;main;read_[k] 2\n");
	query_answer_done(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_files_or_questions),
		cmocka_unit_test(questions_are_read),
		cmocka_unit_test(what_is_no_question_is_refused),
		cmocka_unit_test(labels_of_an_answer_are_labels_of_its_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
