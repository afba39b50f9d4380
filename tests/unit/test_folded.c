/* SPDX-License-Identifier: Apache-2.0 */
/* test_folded.c - a profile made by hand, and the text that comes of it. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "make_parts.h"
#include "sink/sink.h"

struct fixture {
	struct profile profile;
	struct sink_options options;
	struct buf out;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	*state = &f;
	return profile_init(&f.profile);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile_done(&f->profile);
	buf_done(&f->out);
	return 0;
}

static uint32_t frame(struct fixture *f, const char *name, enum profile_class class)
{
	return part_frame(&f->profile, name, "", class, 0);
}

/* Adds a stack, leaf first, for a comm and container. */
static void add(struct fixture *f, const char *container, const char *comm, const uint32_t *frames,
	uint32_t len, uint64_t count)
{
	struct profile *p = &f->profile;

	assert_int_equal(profile_add(p, part_stack(p, frames, len),
				 part_labels(p, container, comm, 7, -1), count),
		0);
}

static void expect(struct fixture *f, const char *by, const char *text)
{
	struct why why;

	buf_clear(&f->out);
	assert_int_equal(sink_parse_by(by, &f->options, &why), 0);
	assert_int_equal(folded_write(&f->profile, &f->options, &f->out), 0);
	assert_string_equal(f->out.data ? f->out.data : "", text);
}

static void root_comes_first_and_kinds_have_suffixes(void **state)
{
	struct fixture *f = *state;
	uint32_t frames[] = {
		frame(f, "vfs_read", PROFILE_KERNEL),
		frame(f, "read", PROFILE_NATIVE),
		frame(f, "JS:*f", PROFILE_JIT),
		frame(f, "small", PROFILE_INLINED),
		frame(f, "[truncated]", PROFILE_MARK),
	};

	add(f, "web", "node", frames, ARRAY_SIZE(frames), 3);
	expect(f, "container,comm",
		"web;node;[truncated];small_[i];JS:*f_[j];read;vfs_read_[k] 3\n");
}

static void equal_lines_are_added_up_and_sorted(void **state)
{
	struct fixture *f = *state;
	uint32_t main_frame[] = { frame(f, "main", PROFILE_NATIVE) };
	uint32_t other[] = { frame(f, "a", PROFILE_NATIVE) };

	add(f, "b", "x", main_frame, 1, 2);
	add(f, "c", "x", main_frame, 1, 5);
	add(f, "b", "x", other, 1, 1);
	expect(f, "comm", "x;a 1\nx;main 7\n");
	expect(f, "container,comm", "b;x;a 1\nb;x;main 2\nc;x;main 5\n");
}

/* ' ' and '+' come before the ';' that ends a name, letters after it. */
static void lines_are_in_the_order_of_their_bytes(void **state)
{
	static const char *const names[] = { "a", "a+0x1", "a b", "ab", "\303\244", "?", "#a", "" };
	struct fixture *f = *state;
	const char *last = "";

	for (uint32_t i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(names); i++) {
		uint32_t frames[] = {
			frame(f, names[i % ARRAY_SIZE(names)], PROFILE_NATIVE),
			frame(f, names[i / ARRAY_SIZE(names)], PROFILE_NATIVE),
		};

		add(f, "web", "node", frames, 2, i + 1);
		add(f, "web", "node", frames + 1, 1, i + 1);
	}
	f->options.by_len = 0;
	assert_int_equal(folded_write(&f->profile, &f->options, &f->out), 0);
	for (char *line = strtok(f->out.data, "\n"); line; line = strtok(NULL, "\n")) {
		*strrchr(line, ' ') = '\0';
		assert_true(strcmp(last, line) < 0);
		last = line;
	}
	/* "" reads as "?", and "#a" as "?a" where it begins a line. */
	assert_true(strncmp(last, "\303\244;", 3) == 0);
}

static void a_stack_without_frames_is_a_line_and_one_without_samples_is_none(void **state)
{
	struct fixture *f = *state;
	uint32_t unknown[] = { frame(f, "?", PROFILE_NATIVE) };
	uint32_t unseen[] = { frame(f, "unseen", PROFILE_NATIVE) };

	add(f, "web", "node", unseen, 1, 0);
	add(f, "web", "node", unknown, 0, 2);
	add(f, "web", "node", unknown, 1, 3);
	expect(f, "", "? 5\n");
}

static void what_strangers_wrote_cannot_break_a_line(void **state)
{
	struct fixture *f = *state;
	uint32_t frames[] = {
		frame(f, "operator;()\n\x1b[31m", PROFILE_NATIVE),
		frame(f, "\xff\xc3(\xe2\x82\xac", PROFILE_NATIVE),
		frame(f, "", PROFILE_NATIVE),
	};

	add(f, "", "a;b\x7f", frames, ARRAY_SIZE(frames), 1);
	expect(f, "container,comm",
		"?;a:b?;?;?"
		"?(\xe2\x82\xac;operator:()?"
		"?[31m 1\n");
}

static void no_command_makes_its_line_a_comment(void **state)
{
	struct fixture *f = *state;
	uint32_t frames[] = { frame(f, "#main", PROFILE_NATIVE) };

	add(f, "web", "#hidden", frames, 1, 3);
	expect(f, "comm", "?hidden;#main 3\n");
	expect(f, "", "?main 3\n");
}

static void numbers_that_are_not_known_read_as_a_question_mark(void **state)
{
	struct fixture *f = *state;
	uint32_t frames[] = { frame(f, "main", PROFILE_NATIVE) };

	add(f, "c", "x", frames, 1, 1);
	expect(f, "pid,tid,cpu", "7;?;?;main 1\n");
}

static void an_empty_profile_is_an_empty_file(void **state)
{
	expect(*state, "comm", "");
}

static void a_sample_without_frames_keeps_its_labels(void **state)
{
	struct fixture *f = *state;

	add(f, "host", "kworker", NULL, 0, 4);
	expect(f, "comm", "kworker 4\n");
	expect(f, "", "? 4\n");
	add(f, "host", "kworker", (uint32_t[]){ frame(f, "?", PROFILE_NATIVE) }, 1, 2);
	add(f, "host", "kworker", (uint32_t[]){ frame(f, " blank", PROFILE_NATIVE) }, 1, 1);
	expect(f, "", " blank 1\n? 6\n");
}

static void unknown_and_repeated_keys_are_refused(void **state)
{
	static const char *const rows[] = { "nope", "comm,nope", "comm,comm", "comm,,pid",
		",comm" };
	struct sink_options options;
	struct why why;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (sink_parse_by(rows[i], &options, &why) == 0)
			fail_msg("%s was taken", rows[i]);
}

static void a_format_is_found_by_the_end_of_a_name(void **state)
{
	static const struct {
		const char *path;
		const char *name;
	} rows[] = {
		{ "a.folded", "folded" },
		{ "a.folded.gz", "folded" },
		{ "a.folded.zst", "folded" },
		{ "x.collapsedstack.txt", "folded" },
		{ "/t/.folded/a", NULL },
		{ ".folded", NULL },
		{ "a.txt", NULL },
		{ "a.gz", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct sink *sink = sink_for_path(rows[i].path);

		if (rows[i].name ? !sink || strcmp(sink->name, rows[i].name) : sink != NULL)
			fail_msg("%s: %s", rows[i].path, sink ? sink->name : "none");
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(root_comes_first_and_kinds_have_suffixes),
		TEST(equal_lines_are_added_up_and_sorted),
		TEST(lines_are_in_the_order_of_their_bytes),
		TEST(a_stack_without_frames_is_a_line_and_one_without_samples_is_none),
		TEST(what_strangers_wrote_cannot_break_a_line),
		TEST(no_command_makes_its_line_a_comment),
		TEST(numbers_that_are_not_known_read_as_a_question_mark),
		TEST(an_empty_profile_is_an_empty_file),
		TEST(a_sample_without_frames_keeps_its_labels),
		TEST(unknown_and_repeated_keys_are_refused),
		TEST(a_format_is_found_by_the_end_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
