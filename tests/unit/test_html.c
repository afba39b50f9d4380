/* SPDX-License-Identifier: Apache-2.0 */
/* test_html.c - the page as text: what is in it and what can be in it. What it does in a browser is
 * for tests/views. And two profiles beside each other, as folded text. */
#include "unit.h"

#include "base/own.h"
#include "make_profile.h"
#include "sink/diff.h"
#include "sink/html.h"

struct fixture {
	struct profile before, after;
	struct sink_options options;
	struct buf out;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .options = { .by = { PROFILE_KEY_COMM }, .by_len = 1 } };
	*state = &f;
	return profile_init(&f.before) < 0 || profile_init(&f.after) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile_done(&f->before);
	profile_done(&f->after);
	buf_done(&f->out);
	return 0;
}

static int count_of(const char *text, const char *part)
{
	int count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static const char *page(struct fixture *f)
{
	buf_clear(&f->out);
	assert_int_equal(html_write(&f->before, &f->options, &f->out), 0);
	assert_int_equal(strlen(f->out.data), f->out.len);
	return f->out.data;
}

static void a_page_asks_for_nothing_from_outside(void **state)
{
	const char *text = page(*state);

	assert_non_null(strstr(text, "content=\"default-src 'none'; script-src 'sha256-"));
	assert_int_equal(count_of(text, "src="), 0);
	assert_int_equal(count_of(text, "@import"), 0);
	assert_int_equal(count_of(text, "url("), 0);
	assert_int_equal(count_of(text, "https://"), 0);
	/* the name of SVG's language, in the page's icon */
	assert_int_equal(count_of(text, "http://"), 1);
	assert_int_equal(count_of(text, "@data@") + count_of(text, "@words@"), 0);
	assert_int_equal(count_of(text, "-hash@"), 0);
}

static void no_name_is_markup(void **state)
{
	static const char *const names[] = { "</script><script>alert(1)</script>", "<!--", "\"'&<>",
		"\x01\x1b[31m", "\xff\xc3(", "\xe2\x80\xaeover" };
	struct fixture *f = *state;
	int scripts = count_of(page(f), "<script"), ends = count_of(page(f), "</script");
	int comments = count_of(page(f), "<!--");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *sides[] = { names[i], "x" };
		const struct profile *both[] = { &f->before, &f->after };

		make_sample(&f->before, names[i], names[i], 1);
		page(f);
		buf_clear(&f->out);
		assert_int_equal(html_write_diff(both, sides, &f->options, DIFF_TOTAL, &f->out), 0);
		if (count_of(f->out.data, "<script") != scripts ||
			count_of(f->out.data, "</script") != ends ||
			count_of(f->out.data, "<!--") != comments)
			fail_msg("%s came through", names[i]);
	}
}

static void words_are_json_of_clean_text(void **state)
{
	struct fixture *f = *state;
	const char *sides[] = { "a\\\"<b>\n\xff", "x" };
	const struct profile *both[] = { &f->before, &f->after };

	f->before.kinds[0].period_ns = 1000;
	assert_int_equal(html_write_diff(both, sides, &f->options, DIFF_TIME, &f->out), 0);
	assert_non_null(strstr(f->out.data,
		"\"scale\":\"time\",\"by\":[5],\"sides\":[{\"name\":"
		"\"a\\u005c\\u0022\\u003cb\\u003e??\",\"unit\":\"samples\",\"period_ns\":1000,"));
}

static void equal_profiles_are_equal_pages(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_done) struct buf first = BUF_INIT;

	make_sample(&f->before, "x", "main;work_[k]", 3);
	page(f);
	assert_int_equal(buf_put(&first, f->out.data, f->out.len), 0);
	assert_string_equal(page(f), first.data);
}

/* ---- two beside each other ----------------------------------------------------------------- */

static void expect_diff(struct fixture *f, enum diff_scale scale, const char *text)
{
	buf_clear(&f->out);
	assert_int_equal(diff_write_folded(&f->before, &f->after, &f->options, scale, &f->out), 0);
	assert_string_equal(f->out.data ? f->out.data : "", text);
}

static void lines_of_both_are_joined(void **state)
{
	struct fixture *f = *state;

	make_sample(&f->before, "x", "main;old", 4);
	make_sample(&f->before, "x", "main", 2);
	make_sample(&f->before, "x", "main;both;deep", 10);
	make_sample(&f->after, "x", "main;both;deep", 3);
	make_sample(&f->after, "x", "main;both", 1);
	make_sample(&f->after, "x", "main;zoo_[k]", 7);
	expect_diff(f, DIFF_NONE,
		"x;main 2 0\nx;main;both 0 1\nx;main;both;deep 10 3\nx;main;old 4 0\n"
		"x;main;zoo_[k] 0 7\n");
}

static void before_is_scaled_to_after(void **state)
{
	struct fixture *f = *state;

	make_sample(&f->before, "x", "a", 10);
	make_sample(&f->before, "x", "b", 30);
	make_sample(&f->after, "x", "a", 50);
	make_sample(&f->after, "x", "b", 70);
	expect_diff(f, DIFF_TOTAL, "x;a 30 50\nx;b 90 70\n");
	expect_diff(f, DIFF_TIME, "x;a 10 50\nx;b 30 70\n");
	f->before.kinds[0].period_ns = f->after.kinds[0].period_ns = 10;
	f->before.duration_ns = 1000;
	f->after.duration_ns = 500;
	expect_diff(f, DIFF_TIME, "x;a 5 50\nx;b 15 70\n");
}

static void times_are_in_microseconds_after_the_line_of_their_kind(void **state)
{
	struct fixture *f = *state;
	struct profile *const both[] = { &f->before, &f->after };

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		assert_int_equal(profile_string(both[i], "wall", &both[i]->kinds[0].name), 0);
		assert_int_equal(
			profile_string(both[i], "nanoseconds", &both[i]->kinds[0].unit), 0);
	}
	make_sample(&f->before, "x", "a", 4000);
	make_sample(&f->after, "x", "a", 7000);
	make_sample(&f->after, "x", "b", 1000);
	expect_diff(f, DIFF_NONE, "# stoker kind: wall microseconds 0 0\nx;a 4 7\nx;b 0 1\n");
	f->before.duration_ns = 1000;
	f->after.duration_ns = 500;
	expect_diff(f, DIFF_TIME, "# stoker kind: wall microseconds 0 0\nx;a 2 7\nx;b 0 1\n");
}

static void nothing_on_one_side_is_no_error(void **state)
{
	struct fixture *f = *state;

	expect_diff(f, DIFF_TOTAL, "");
	make_sample(&f->after, "x", "a", 5);
	expect_diff(f, DIFF_TOTAL, "x;a 0 5\n");
	make_sample(&f->before, "y", "b c 1", 2);
	make_sample(&f->before, "y", "", 1);
	expect_diff(f, DIFF_NONE, "x;a 0 5\ny 1 0\ny;b c 1 2 0\n");
}

static void scales_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < DIFF_SCALES; i++)
		assert_int_equal(diff_find_scale(diff_scale_name((enum diff_scale)i)), i);
	assert_int_equal(diff_find_scale("sum"), DIFF_SCALES);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_page_asks_for_nothing_from_outside),
		TEST(no_name_is_markup),
		TEST(words_are_json_of_clean_text),
		TEST(equal_profiles_are_equal_pages),
		TEST(lines_of_both_are_joined),
		TEST(before_is_scaled_to_after),
		TEST(times_are_in_microseconds_after_the_line_of_their_kind),
		TEST(nothing_on_one_side_is_no_error),
		TEST(scales_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
