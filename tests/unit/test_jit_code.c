/* SPDX-License-Identifier: Apache-2.0 */
/* test_jit_code.c - the frame of a process's code without a name, and names that read as one. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "profile/folded_reader.h"
#include "profile/jit_code.h"
#include "sink/diff.h"

static int setup(void **state)
{
	static struct profile p;

	*state = &p;
	return profile_init(&p);
}

static int teardown(void **state)
{
	profile_done(*state);
	return 0;
}

static void read_text(const char *text, struct profile *p)
{
	const struct bytes bytes = { (const uint8_t *)text, strlen(text) };
	struct folded_counts counts;

	assert_int_equal(folded_read(bytes, p, &counts), 0);
	assert_int_equal(counts.bad, 0);
}

/* A program may have any name. */
static void the_frame_has_one_bracket_at_each_end(void **state)
{
	static const struct {
		const char *program;
		uint32_t pid;
		const char *name;
	} rows[] = {
		{ "node", 4711, "[JIT node 4711]" },
		{ "a b 7", 1, "[JIT a b 7 1]" },
		{ "x]", 2, "[JIT x) 2]" },
		{ "a]_[k]", 3, "[JIT a)_(k) 3]" },
		{ "[guessed]", 4, "[JIT (guessed) 4]" },
		{ "", 5, "[JIT ? 5]" },
		{ "node", 0, "[JIT]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;

		assert_int_equal(jit_code_put(&out, rows[i].program, rows[i].pid), 0);
		assert_string_equal(out.data, rows[i].name);
		assert_true(jit_code_is(out.data, out.len));
	}
}

static void a_name_that_reads_as_one_gets_braces(void **state)
{
	static const struct {
		const char *name, *kept;
	} rows[] = {
		{ "[JIT node 4711]", "{JIT node 4711}" },
		{ "[JIT node]", "{JIT node}" },
		{ "[JIT]", "{JIT}" },
		{ "[JIT a] b]", "{JIT a] b}" },
		{ "[JITTER]", "[JITTER]" },
		{ "[JIT node 4711]()", "[JIT node 4711]()" },
		{ "a[JIT]", "a[JIT]" },
		{ "[JIT", "[JIT" },
		{ "", "" },
	};
	struct profile *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile_labels labels = { .len = 0 };
		uint32_t id, label;

		assert_int_equal(profile_string(p, rows[i].name, &id), 0);
		profile_labels_set(&labels, PROFILE_KEY_COMM, id);
		assert_int_equal(jit_code_guard(p, &id), 0);
		assert_string_equal(profile_text(p, id), rows[i].kept);
		assert_int_equal(profile_labels(p, &labels, &label), 0);
		assert_string_equal(
			profile_label_text(p, label, PROFILE_KEY_COMM), rows[i].kept);
	}
}

static void two_captures_of_a_service_have_one_frame(void **state)
{
	static const char before[] = "main;[JIT node 4711]_[j];write 3\n"
				     "main;[JIT node 4712]_[j];write 1\n"
				     "main;[JIT a 1 9]_[j] 5\nmain;[JIT]_[j] 1\n"
				     "main;{JIT node 7} 2\n";
	static const char after[] = "main;[JIT node 88]_[j];write 12\n";
	_cleanup_(profile_done) struct profile second = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	const struct sink_options options = { 0 };
	struct profile *p = *state;

	assert_int_equal(profile_init(&second), 0);
	read_text(before, p);
	read_text(after, &second);
	assert_int_equal(jit_code_drop_pids(p), 0);
	assert_int_equal(jit_code_drop_pids(&second), 0);
	assert_int_equal(diff_write_folded(p, &second, &options, DIFF_NONE, &out), 0);
	assert_string_equal(out.data,
		"main;[JIT a 1]_[j] 5 0\nmain;[JIT node]_[j];write 4 12\nmain;[JIT]_[j] 1 0\n"
		"main;{JIT node 7} 2 0\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_frame_has_one_bracket_at_each_end),
		TEST(a_name_that_reads_as_one_gets_braces),
		TEST(two_captures_of_a_service_have_one_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
