/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c - several kinds of value in one profile, and through each reader. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "make_profile.h"
#include "profile/folded_reader.h"
#include "profile/perf_reader.h"
#include "profile/slice.h"
#include "profile/words.h"
#include "sink/sink.h"

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

static uint32_t make_kind(struct profile *p, const char *name, uint64_t period_ns)
{
	uint32_t kind;

	assert_int_equal(profile_kind(p, name, strlen(name), &kind), 0);
	p->kinds[kind].period_ns = period_ns;
	return kind;
}

static void put(struct profile *p, const char *name, uint32_t kind, uint64_t value)
{
	struct profile_labels labels = { 0 };
	uint32_t frame = make_frame(p, name, PROFILE_NATIVE), stack, set;

	make_labels(p, &labels, "web", 7, 8);
	assert_int_equal(profile_labels(p, &labels, &set), 0);
	assert_int_equal(profile_stack(p, &frame, 1, &stack), 0);
	assert_int_equal(profile_add_kind(p, stack, set, kind, value), 0);
}

static void put_tick(struct profile *p, const char *name, uint32_t kind, uint64_t time_ns)
{
	struct profile_labels labels = { 0 };
	uint32_t frame = make_frame(p, name, PROFILE_NATIVE), stack, set;

	make_labels(p, &labels, "web", 7, 8);
	assert_int_equal(profile_labels(p, &labels, &set), 0);
	assert_int_equal(profile_stack(p, &frame, 1, &stack), 0);
	assert_int_equal(profile_tick_kind(p, stack, set, kind, 0, time_ns), 0);
}

/* The folded text of each kind, by its name; NULL: there is no such kind. */
static void expect(const struct profile *p, const char *name, const char *lines)
{
	static const struct sink_options by = { .by = { PROFILE_KEY_COMM }, .by_len = 1 };
	_cleanup_(profile_done) struct profile one = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint32_t kind = profile_kind_find(p, name, strlen(name));

	if (kind == PROFILE_NO_KIND)
		fail_msg("no kind %s", name);
	assert_int_equal(profile_init(&one), 0);
	vec_each (&p->samples, sample) {
		struct profile_labels labels;
		uint32_t set, stack, frame;

		if (sample->kind != kind)
			continue;
		profile_labels_get(p, sample->labels, &labels);
		labels.len = 0;
		assert_int_equal(profile_labels_text(&one, &labels, PROFILE_KEY_COMM,
					 profile_label_text(p, sample->labels, PROFILE_KEY_COMM)),
			0);
		assert_int_equal(profile_labels(&one, &labels, &set), 0);
		frame = make_frame(&one,
			profile_text(p, profile_stack_frame(p, sample->stack, 0)->name),
			PROFILE_NATIVE);
		assert_int_equal(profile_stack(&one, &frame, 1, &stack), 0);
		assert_int_equal(profile_add(&one, stack, set, sample->value), 0);
	}
	assert_int_equal(folded_write(&one, &by, &text), 0);
	assert_string_equal(buf_text(&text), lines);
}

static void a_stack_has_a_value_of_each_kind(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	uint32_t wall;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_string_equal(profile_kind_name(&p, 0), "cpu");
	assert_string_equal(profile_kind_unit(&p, 0), "samples");
	assert_int_equal(make_kind(&p, "cpu", 10), 0);
	wall = make_kind(&p, "wall", 50);
	assert_int_equal(wall, 1);
	assert_int_equal(make_kind(&p, "wall", 50), 1);
	put(&p, "f", 0, 2);
	put(&p, "f", wall, 3);
	put(&p, "f", 0, 5);
	put(&p, "f", wall, 7);
	assert_int_equal(p.samples.len, 2);
	assert_int_equal(profile_total(&p), 7);
	assert_int_equal(profile_kind_total(&p, wall), 10);
	assert_int_equal(profile_kind_amount(&p, wall, 10), 500);
	assert_int_equal(profile_kind_amount(&p, wall, UINT64_MAX / 2), INT64_MAX);
}

static void kinds_beyond_the_limit_are_refused(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	char name[] = "k0";
	uint32_t kind;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	for (uint32_t i = 1; i < PROFILE_KINDS_MAX; i++, name[1]++)
		assert_int_equal(make_kind(&p, name, 0), i);
	assert_int_equal(profile_kind(&p, "more", 4, &kind), -ENOSPC);
	assert_int_equal(profile_kind(&p, "k0", 2, &kind), 0);
	assert_int_equal(kind, 1);
}

static void kinds_are_chosen_by_name_in_the_order_of_the_names(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	uint32_t wall, odd;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	wall = make_kind(&p, "wall", 50);
	odd = make_kind(&p, "cpu/event=1,umask=2/", 0);
	for (uint64_t i = 0; i < 4; i++)
		put_tick(&p, "f", i % 2 ? wall : 0, 10 + i);
	put(&p, "g", odd, 9);
	assert_int_equal(profile_choose_kinds(&p, "wall,none"), -ENOENT);
	assert_int_equal(profile_choose_kinds(&p, "wall,wall"), -ENOENT);
	assert_int_equal(p.kinds_len, 3);
	assert_int_equal(profile_choose_kinds(&p, "cpu/event=1,umask=2/,wall"), 0);
	assert_int_equal(p.kinds_len, 2);
	assert_string_equal(profile_kind_name(&p, 0), "cpu/event=1,umask=2/");
	assert_int_equal(p.kinds[1].period_ns, 50);
	expect(&p, "wall", "web;f 2\n");
	expect(&p, "cpu/event=1,umask=2/", "web;g 9\n");
	assert_int_equal(p.ticks.len, 2);
	assert_int_equal(p.ticks.data[0].time_ns, 11);
	assert_int_equal(p.samples.data[p.ticks.data[0].sample].kind, 1);
	/* Sums go on. */
	put_tick(&p, "f", 1, 20);
	expect(&p, "wall", "web;f 3\n");
}

static void a_part_of_a_profile_has_its_kinds(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, part = { 0 };
	uint32_t wall, other;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_init(&part), 0);
	other = make_kind(&p, "other", 3);
	wall = make_kind(&p, "wall", 50);
	put_tick(&p, "f", 0, 10);
	put_tick(&p, "f", wall, 11);
	put_tick(&p, "g", wall, 12);
	put_tick(&p, "g", other, 1000);
	assert_int_equal(profile_slice(&p, 0, 500, &part), 0);
	assert_int_equal(part.kinds_len, 2);
	assert_int_equal(part.kinds[1].period_ns, 50);
	expect(&part, "wall", "web;f 1\nweb;g 1\n");
	expect(&part, "cpu", "web;f 1\n");
}

/* A file a kind, one after the other. */
static void folded_texts_of_kinds_are_one_profile_again(void **state)
{
	static const struct sink_options by = {
		.by = { PROFILE_KEY_COMM }, .by_len = 1, .label_line = true
	};
	_cleanup_(profile_done) struct profile p = { 0 }, again = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct folded_counts counts;
	uint32_t bytes;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	p.kinds[0].period_ns = 10;
	make_kind(&p, "wall", 50);
	bytes = make_kind(&p, "alloc", 0);
	assert_int_equal(profile_string(&p, "bytes", &p.kinds[bytes].unit), 0);
	put(&p, "f", 0, 2);
	put(&p, "g", 1, 3);
	put(&p, "f", bytes, 4096);
	assert_int_equal(folded_write(&p, &by, &text), 0);
	assert_int_equal(profile_choose_kinds(&p, "wall,alloc"), 0);
	assert_int_equal(folded_write(&p, &by, &text), 0);
	assert_int_equal(profile_choose_kinds(&p, "alloc"), 0);
	assert_int_equal(folded_write(&p, &by, &text), 0);
	assert_string_equal(buf_text(&text),
		"# stoker kind: cpu samples 10 0\n# stoker labels: comm 0\nweb;f 2\n"
		"# stoker kind: wall samples 50 0\n# stoker labels: comm 0\nweb;g 3\n"
		"# stoker kind: alloc bytes 0 0\n# stoker labels: comm 0\nweb;f 4096\n");
	assert_int_equal(profile_init(&again), 0);
	assert_int_equal(folded_read(bytes_of(buf_text(&text)), &again, &counts), 0);
	assert_int_equal(counts.skipped, 6);
	assert_int_equal(counts.comments, 0);
	assert_int_equal(again.kinds_len, 3);
	expect(&again, "cpu", "web;f 2\n");
	expect(&again, "wall", "web;g 3\n");
	expect(&again, "alloc", "web;f 4096\n");
	assert_int_equal(again.kinds[0].period_ns, 10);
	assert_int_equal(again.kinds[1].period_ns, 50);
	assert_string_equal(profile_kind_unit(&again, 2), "bytes");
}

static void time_is_microseconds_in_folded_text_with_an_exact_sum(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, again = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct sink_options options = { 0 };
	struct folded_counts counts;
	uint32_t wall;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_kind(&p, "wall", 4, &wall), 0);
	assert_int_equal(profile_string(&p, PROFILE_NANOSECONDS, &p.kinds[wall].unit), 0);
	put(&p, "a", wall, 1400);
	put(&p, "b", wall, 300);
	put(&p, "c", wall, 4299);
	put(&p, "d", wall, 7001);
	assert_int_equal(profile_choose_kinds(&p, "wall"), 0);
	assert_int_equal(folded_write(&p, &options, &text), 0);
	assert_string_equal(
		buf_text(&text), "# stoker kind: wall microseconds 0 0\na 1\nc 4\nd 8\n");
	assert_int_equal(profile_init(&again), 0);
	assert_int_equal(folded_read(bytes_of(buf_text(&text)), &again, &counts), 0);
	assert_int_equal(profile_kind_total(&again, 0), 13000);
	assert_string_equal(profile_kind_unit(&again, 0), PROFILE_NANOSECONDS);
	/* The store has the values as they are. */
	buf_clear(&text);
	options.lines_only = true;
	assert_int_equal(folded_write(&p, &options, &text), 0);
	assert_string_equal(buf_text(&text), "a 1400\nb 300\nc 4299\nd 7001\n");
}

static void nanoseconds_are_said_as_seconds(void **state)
{
	static const struct {
		const char *unit;
		uint64_t value;
		const char *text;
	} rows[] = {
		{ PROFILE_NANOSECONDS, 0, "0.000 s" },
		{ PROFILE_NANOSECONDS, 1500000, "0.002 s" },
		{ PROFILE_NANOSECONDS, 35913382896, "35.9 s" },
		{ PROFILE_SAMPLES, 35913382896, "35913382896 samples" },
		{ "bytes", 1, "1 bytes" },
	};
	char text[PROFILE_AMOUNT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(
			profile_amount_text(rows[i].unit, rows[i].value, text), rows[i].text);
}

static void a_name_of_a_list_is_whole(void **state)
{
	(void)state;
	assert_true(words_listed("cpu, wall", "cpu") && words_listed("cpu, wall", "wall"));
	assert_false(words_listed("cpu, wall", "wal") || words_listed("cpu, wall", "all"));
	assert_false(words_listed("", "cpu") || words_listed("cpu", ""));
	assert_true(words_listed("wallet, wall", "wall"));
}

static void the_largest_sum_of_time_is_read(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, over = { 0 };
	struct folded_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_init(&over), 0);
	assert_int_equal(folded_read(bytes_of("# stoker kind: wall microseconds 0 0\n"
					      "f 9007199254740991\ng 1\n"),
				 &p, &counts),
		0);
	assert_true(profile_kind_total(&p, 0) == FOLDED_SUM_MAX * 1000);
	assert_int_equal(folded_read(bytes_of("# stoker kind: wall microseconds 0 0\n"
					      "f 9007199254740992\ng 1\n"),
				 &over, &counts),
		-ERANGE);
}

static void lines_of_kinds_beyond_the_limit_are_counted(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct folded_counts counts;

	(void)state;
	for (int i = 0; i < PROFILE_KINDS_MAX + 2; i++)
		buf_printf(&text, "# stoker kind: k%d samples 0 0\nf %d\n", i, i + 1);
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(folded_read(bytes_of(buf_text(&text)), &p, &counts), 0);
	assert_int_equal(p.kinds_len, PROFILE_KINDS_MAX);
	assert_int_equal(counts.no_kind, 2);
	assert_int_equal(profile_kind_total(&p, 7), 8);
}

static void a_line_of_a_kind_that_is_wrong_is_a_comment(void **state)
{
	static const char *const rows[] = { "# stoker kind: wall samples 0", "# stoker kind: 0",
		"# stoker kind: wall samples x 0", "# stoker kind: wall samples 1 2 0",
		"# stoker kind: wall samples 99999999999999999999 0",
		"# stoker kind: wall samples 1 1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		struct folded_counts counts;
		char text[128];

		snprintf(text, sizeof(text), "%s\nweb;f 1\n", rows[i]);
		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(folded_read(bytes_of(text), &p, &counts), 0);
		if (p.kinds_len != 1 || p.kinds[0].name != 0 || counts.skipped != 1)
			fail_msg("%s", rows[i]);
	}
}

#define HEAD(event, time) "web 7/8 [000] " time ":   50 " event ": \n\t1 "

static void events_of_perf_text_are_kinds(void **state)
{
	static const char text[] =
		"# ========\n# clock : wall\n# ========\n"
		HEAD("cpu-clock", "1.5") "f (m)\n\n"
		HEAD("wall", "1.4") "g (m)\n\n"
		HEAD("cycles", "1.6") "h (m)\n\n";
	static const struct {
		const char *events;
		uint32_t kinds;
	} rows[] = { { NULL, 1 }, { "wall", 1 }, { "cpu,wall", 2 },
		{ "cpu-clock,cycles,wall", 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		struct perf_counts counts;

		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(perf_read(bytes_of(text), rows[i].events, &p, &counts), 0);
		assert_int_equal(counts.events_len, 3);
		if (p.kinds_len != rows[i].kinds || p.ticks.len != rows[i].kinds)
			fail_msg("%s", rows[i].events);
		if (i != 3)
			continue;
		expect(&p, "cpu", "web;f 1\n");
		expect(&p, "wall", "web;g 1\n");
		expect(&p, "cycles", "web;h 1\n");
		assert_int_equal(p.kinds[1].period_ns, 50);
		assert_int_equal(p.kinds[2].period_ns, 0);
		assert_int_equal(p.ticks.data[0].time_ns, 1400000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_a_value_of_each_kind),
		cmocka_unit_test(kinds_beyond_the_limit_are_refused),
		cmocka_unit_test(kinds_are_chosen_by_name_in_the_order_of_the_names),
		cmocka_unit_test(a_part_of_a_profile_has_its_kinds),
		cmocka_unit_test(folded_texts_of_kinds_are_one_profile_again),
		cmocka_unit_test(time_is_microseconds_in_folded_text_with_an_exact_sum),
		cmocka_unit_test(nanoseconds_are_said_as_seconds),
		cmocka_unit_test(a_name_of_a_list_is_whole),
		cmocka_unit_test(the_largest_sum_of_time_is_read),
		cmocka_unit_test(lines_of_kinds_beyond_the_limit_are_counted),
		cmocka_unit_test(a_line_of_a_kind_that_is_wrong_is_a_comment),
		cmocka_unit_test(events_of_perf_text_are_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
