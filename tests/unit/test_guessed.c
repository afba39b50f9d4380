/* SPDX-License-Identifier: Apache-2.0 */
/* test_guessed.c - each format that has room for a remark says how much of a profile is guessed,
 * and says nothing where nothing is. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "make_parts.h"
#include "sink/guessed.h"
#include "sink/sink.h"

/* Formats without room for a remark. All others of sink_list have it. */
static const char *const without[] = { "perf", "perfview", "intervals", "stoker" };

static bool has_room(const struct sink *sink)
{
	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		if (strcmp(sink->name, without[i]) == 0)
			return false;
	return true;
}

/* A stack with the mark has `guessed` of `all` samples. */
static void make(struct profile *p, uint64_t guessed, uint64_t all)
{
	uint32_t frames[3], labels;

	assert_int_equal(profile_init(p), 0);
	labels = part_labels(p, "", "x", 1, 1);
	frames[0] = part_frame(p, "leaf", "app", PROFILE_NATIVE, 1);
	frames[1] = part_frame(p, "[guessed]", "", PROFILE_MARK, 0);
	frames[2] = part_frame(p, "main", "app", PROFILE_NATIVE, 2);
	assert_int_equal(profile_add(p, part_stack(p, frames, 1), labels, all - guessed), 0);
	if (guessed > 0)
		assert_int_equal(profile_add(p, part_stack(p, frames, 3), labels, guessed), 0);
}

static bool says(const struct profile *p, const char *format, const char *words)
{
	struct sink_options options = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	assert_non_null(sink_find(format)->write);
	assert_int_equal(sink_find(format)->write(p, &options, &out), 0);
	return memmem(out.data, out.len, words, strlen(words)) != NULL;
}

static void each_format_says_how_much_is_guessed(void **state)
{
	_cleanup_(profile_done) struct profile p;

	(void)state;
	make(&p, 1, 4);
	for (const struct sink *sink = sink_list(); sink->name; sink++)
		if (has_room(sink) && !says(&p, sink->name, "25.00 % of the samples are guessed"))
			fail_msg("%s says nothing", sink->name);
}

static void a_profile_without_guesses_has_no_remark(void **state)
{
	_cleanup_(profile_done) struct profile p;

	(void)state;
	make(&p, 0, 4);
	for (const struct sink *sink = sink_list(); sink->name; sink++)
		if (has_room(sink) && says(&p, sink->name, "samples are guessed"))
			fail_msg("%s has a remark", sink->name);
}

static void rounding_makes_no_share_none_or_all(void **state)
{
	static const struct {
		uint64_t guessed, all;
		const char *share;
	} rows[] = {
		{ 1, 1000000, "<0.01" },
		{ 49, 1000000, "<0.01" },
		{ 51, 1000000, "0.01" },
		{ 999949, 1000000, "99.99" },
		{ 999951, 1000000, ">99.99" },
		{ 999999, 1000000, ">99.99" },
		{ 1000000, 1000000, "100.00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p;
		char text[GUESSED_MAX], expected[GUESSED_MAX];

		make(&p, rows[i].guessed, rows[i].all);
		snprintf(expected, sizeof(expected), "%s %% of the samples are guessed",
			rows[i].share);
		assert_string_equal(guessed_text(&p, text), expected);
	}
}

/* A share with a '<' is text in XML, and ends nothing in a page. */
static void a_share_below_the_digits_is_escaped(void **state)
{
	_cleanup_(profile_done) struct profile p;

	(void)state;
	make(&p, 1, 1000000);
	assert_true(says(&p, "folded", "# stoker: <0.01 % of the samples are guessed 0\n"));
	assert_true(says(&p, "svg", ", &lt;0.01 % of the samples are guessed"));
	assert_true(says(&p, "html", "\"guessed\":\"\\u003c0.01 % of the samples are guessed\"}"));
}

/* The text of stores and of `stoker top` has nothing but stacks. */
static void lines_for_our_own_readers_are_stacks_alone(void **state)
{
	struct sink_options options = { 0 };
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	(void)state;
	make(&p, 1, 4);
	assert_int_equal(folded_write(&p, &options, &out), 0);
	assert_string_equal(out.data, "leaf 3\nmain;[guessed];leaf 1\n");
	buf_clear(&out);
	assert_int_equal(guessed_write_folded(&p, &options, &out), 0);
	assert_string_equal(out.data,
		"leaf 3\nmain;[guessed];leaf 1\n# stoker: 25.00 % of the samples are guessed 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_says_how_much_is_guessed),
		cmocka_unit_test(a_profile_without_guesses_has_no_remark),
		cmocka_unit_test(rounding_makes_no_share_none_or_all),
		cmocka_unit_test(a_share_below_the_digits_is_escaped),
		cmocka_unit_test(lines_for_our_own_readers_are_stacks_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
