/* SPDX-License-Identifier: Apache-2.0 */
/* test_svg.c - the tree that drawings are made of, and the flame graph in one picture. */
#include "unit.h"

#include "base/own.h"
#include "make_profile.h"
#include "sink/flame.h"
#include "sink/markup.h"

struct fixture {
	struct profile profile, other;
	struct sink_options options;
	struct buf out;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .options = { .by = { PROFILE_KEY_COMM }, .by_len = 1 } };
	*state = &f;
	return profile_init(&f.profile) < 0 || profile_init(&f.other) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile_done(&f->profile);
	profile_done(&f->other);
	buf_done(&f->out);
	return 0;
}

/* "DEPTH:name self/total" of each node, in order. */
static void expect_tree(struct fixture *f, const struct flame *flame, const char *text)
{
	buf_clear(&f->out);
	vec_each (&flame->nodes, node) {
		const struct flame_function *function = &flame->functions.data[node->function];

		if (node->depth > 0)
			buf_printf(&f->out, "%u:%s %d+%d/%d+%d\n", node->depth,
				flame_text(flame, function->text), (int)node->self[0],
				(int)node->self[1], (int)node->total[0], (int)node->total[1]);
	}
	assert_string_equal(f->out.data ? f->out.data : "", text);
}

static void callees_are_in_the_order_of_names_and_add_up(void **state)
{
	struct fixture *f = *state;
	_cleanup_(flame_done) struct flame flame;
	const struct profile *p = &f->profile;

	make_sample(&f->profile, "b", "main;work", 3);
	make_sample(&f->profile, "a", "main;work;deep", 2);
	make_sample(&f->profile, "b", "main", 1);
	make_sample(&f->profile, "b", "main;early;deep", 4);
	assert_int_equal(flame_build(&flame, &p, 1, &f->options, false), 0);
	expect_tree(f, &flame,
		"1:a 0+0/2+0\n2:main 0+0/2+0\n3:work 0+0/2+0\n4:deep 2+0/2+0\n"
		"1:b 0+0/8+0\n2:main 1+0/8+0\n3:early 0+0/4+0\n4:deep 4+0/4+0\n3:work 3+0/3+0\n");
	assert_int_equal(flame.nodes.data[0].total[0], 10);
	assert_int_equal(flame.depth_max, 4);
}

static void two_profiles_share_one_tree(void **state)
{
	struct fixture *f = *state;
	_cleanup_(flame_done) struct flame flame;
	const struct profile *both[] = { &f->profile, &f->other };

	make_sample(&f->profile, "x", "main;old", 3);
	make_sample(&f->profile, "x", "main;same", 5);
	make_sample(&f->other, "x", "main;new", 2);
	make_sample(&f->other, "x", "main;same", 7);
	assert_int_equal(flame_build(&flame, both, 2, NULL, false), 0);
	expect_tree(f, &flame, "1:main 0+0/8+9\n2:new 0+2/0+2\n2:old 3+0/3+0\n2:same 5+7/5+7\n");
	assert_int_equal(flame.leaves.len, 4);
	assert_int_equal(flame.leaves.data[1], flame.leaves.data[3]);
}

static void frames_that_differ_in_address_alone_are_one(void **state)
{
	struct fixture *f = *state;
	_cleanup_(flame_done) struct flame flame;
	const struct profile *p = &f->profile;
	struct profile_frame frame = { .address = 16 };
	uint32_t ids[2], stack, labels;

	assert_int_equal(profile_string(&f->profile, "f", &frame.name), 0);
	assert_int_equal(profile_labels(&f->profile, &(struct profile_labels){ 0 }, &labels), 0);
	for (int i = 0; i < 2; i++) {
		frame.address += 4;
		assert_int_equal(profile_frame(&f->profile, &frame, &ids[i]), 0);
		assert_int_equal(profile_stack(&f->profile, &ids[i], 1, &stack), 0);
		assert_int_equal(profile_add(&f->profile, stack, labels, 1), 0);
	}
	assert_int_equal(flame_build(&flame, &p, 1, NULL, false), 0);
	expect_tree(f, &flame, "1:f 2+0/2+0\n");
}

static const char *drawn(struct fixture *f)
{
	buf_clear(&f->out);
	assert_int_equal(svg_write(&f->profile, &f->options, &f->out), 0);
	return f->out.data;
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s is not in\n%s", part, text);
}

static void a_box_is_as_wide_as_its_share(void **state)
{
	struct fixture *f = *state;
	const char *svg;

	make_sample(&f->profile, "x", "main;a", 1);
	make_sample(&f->profile, "x", "main;b_[k]", 3);
	svg = drawn(f);
	expect_part(svg, "<title>all (4 samples, 100.00%)</title><rect x=\"10.0\"");
	expect_part(svg, "<title>a (1 samples, 25.00%)</title><rect x=\"10.0\"");
	expect_part(svg, "<title>b (3 samples, 75.00%)</title><rect x=\"305.0\"");
	expect_part(svg, "width=\"885.0\"");
	assert_null(strstr(svg, "are not drawn"));
}

static void what_is_too_narrow_is_counted_and_not_drawn(void **state)
{
	struct fixture *f = *state;
	const char *svg;

	make_sample(&f->profile, "x", "main;wide", 1000000);
	make_sample(&f->profile, "x", "main;narrow;buried", 2);
	svg = drawn(f);
	expect_part(svg, "2 boxes narrower than 0.1 pixels (2 samples) are not drawn");
	assert_null(strstr(svg, "buried"));
}

static void what_strangers_wrote_cannot_end_a_tag(void **state)
{
	struct fixture *f = *state;
	const char *svg;

	make_sample(&f->profile, "</title><script>alert(1)</script>", "a\"b'c&d]]>", 1);
	make_sample(
		&f->profile, "\x01\x1b[31m\xff\xed\xa0\x80", "\xe2\x80\xaeturned\xef\xbf\xbf", 1);
	svg = drawn(f);
	expect_part(svg, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
	expect_part(svg, "a&quot;b&#39;c&amp;d]]&gt;");
	expect_part(svg, "<title>??[31m???? (");
	expect_part(svg, "<title>?turned? (");
	assert_null(strstr(svg, "<script>alert"));
}

static void an_empty_profile_is_a_whole_picture(void **state)
{
	const char *svg = drawn(*state);

	expect_part(svg, "<title>all (0 samples, 0.00%)</title>");
	expect_part(svg, "</svg>\n");
}

static void counts_are_grouped_by_three(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} rows[] = { { 0, "0" }, { 999, "999" }, { 1000, "1,000" }, { 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" } };
	char room[MARKUP_COUNT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(markup_count(rows[i].count, room), rows[i].text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(callees_are_in_the_order_of_names_and_add_up),
		TEST(two_profiles_share_one_tree),
		TEST(frames_that_differ_in_address_alone_are_one),
		TEST(a_box_is_as_wide_as_its_share),
		TEST(what_is_too_narrow_is_counted_and_not_drawn),
		TEST(what_strangers_wrote_cannot_end_a_tag),
		TEST(an_empty_profile_is_a_whole_picture),
		TEST(counts_are_grouped_by_three),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
