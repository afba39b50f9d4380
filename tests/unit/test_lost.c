/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost.c - a profile with two kinds, three free labels and an event, in every format: the
 * parts that a format has are in its bytes, and the others are counted. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "make_profile.h"
#include "sink/sink.h"

static const struct sink_options by_comm = { .by = { PROFILE_KEY_COMM }, .by_len = 1 };

static uint32_t make_set(struct profile *p, const char *route)
{
	static const char *const rows[][2] = { { "tenant", "blue" }, { "trace.id", "77" } };
	struct profile_labels set = { 0 };
	uint32_t id;

	make_labels(p, &set, "web", 7, 8);
	assert_int_equal(profile_labels_put(p, &set, "route", 5, route, strlen(route)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(profile_labels_put(p, &set, rows[i][0], strlen(rows[i][0]),
					 rows[i][1], strlen(rows[i][1])),
			0);
	assert_int_equal(profile_labels(p, &set, &id), 0);
	return id;
}

/* 3 samples of cpu, 5 of wall, an event. */
static void make(struct profile *p)
{
	uint32_t frame, stack, set, wall;
	struct profile_event event = { .time_ns = 1500, .duration_ns = 2000 };

	assert_int_equal(profile_init(p), 0);
	p->kinds[0].period_ns = 10000000;
	assert_int_equal(profile_kind(p, "wall", 4, &wall), 0);
	p->kinds[wall].period_ns = 50000000;
	frame = make_frame(p, "serve", PROFILE_NATIVE);
	assert_int_equal(profile_stack(p, &frame, 1, &stack), 0);
	set = make_set(p, "/a");
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(profile_tick_kind(p, stack, set, i < 3 ? 0 : wall, 0, 1000 + i),
			0);
	event.stack = stack;
	event.labels = set;
	assert_int_equal(profile_event(p, &event, "gc pause"), 0);
	profile_sort(p);
}

static int take(void *ctx, const struct buf *bytes)
{
	return buf_append(ctx, bytes);
}

static void write_as(const char *format, const struct sink_options *o, const struct profile *p,
	struct buf *out, struct sink_lost *lost)
{
	struct sink_file file;

	assert_int_equal(sink_file_open(&file, sink_find(format), o), 0);
	file.out.take = take;
	file.out.ctx = out;
	assert_int_equal(sink_file_put(&file, p), 0);
	assert_int_equal(sink_file_end(&file), 0);
	*lost = file.lost;
	sink_file_done(&file);
}

static void each_format_counts_what_it_has_no_place_for(void **state)
{
	static const struct {
		const char *format;
		uint64_t kinds, labels, events;
	} rows[] = {
		{ "folded", 5, 3, 1 },
		{ "intervals", 5, 3, 1 },
		{ "svg", 5, 3, 1 },
		{ "perf", 5, 3, 1 },
		{ "perfview", 5, 3, 1 },
		{ "speedscope", 0, 8, 1 },
		{ "firefox", 0, 8, 0 },
		{ "pprof", 0, 0, 1 },
		{ "html", 0, 0, 1 },
		{ "stoker", 0, 0, 0 },
	};
	_cleanup_(profile_done) struct profile p = { 0 };
	size_t formats = 0;

	(void)state;
	make(&p);
	while (sink_list()[formats].name)
		formats++;
	assert_int_equal(formats, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		char text[SINK_LOST_TEXT_MAX];
		struct sink_lost lost;
		uint32_t sentences = 0;

		write_as(rows[i].format, &by_comm, &p, &out, &lost);
		if (lost.kinds != rows[i].kinds || lost.labels != rows[i].labels ||
			lost.events != rows[i].events)
			fail_msg("%s: %llu %llu %llu", rows[i].format,
				(unsigned long long)lost.kinds, (unsigned long long)lost.labels,
				(unsigned long long)lost.events);
		while (sink_lost_text(&lost, sink_find(rows[i].format), sentences, text))
			sentences++;
		assert_int_equal(sentences,
			(rows[i].kinds > 0) + (rows[i].labels > 0) + (rows[i].events > 0));
	}
}

static void a_profile_of_one_kind_loses_nothing(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	make_sample(&p, "web", "main;f", 3);
	for (const struct sink *s = sink_list(); s->name; s++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		char text[SINK_LOST_TEXT_MAX];
		struct sink_lost lost;

		write_as(s->name, &by_comm, &p, &out, &lost);
		assert_null(sink_lost_text(&lost, s, 0, text));
	}
}

static void by_keeps_the_free_labels_that_it_names(void **state)
{
	struct sink_options o = { 0 };
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct sink_lost lost;
	struct why why;

	(void)state;
	make(&p);
	assert_int_equal(sink_parse_by("comm,label:route,label:tenant", &o, &why), 0);
	write_as("folded", &o, &p, &out, &lost);
	assert_string_equal(
		buf_text(&out), "# stoker kind: cpu samples 10000000 0\nweb;/a;blue;serve 3\n");
	assert_int_equal(lost.labels, 3);
	buf_clear(&out);
	assert_int_equal(
		sink_parse_by("comm,label:route,label:tenant,label:trace.id", &o, &why), 0);
	write_as("folded", &o, &p, &out, &lost);
	assert_int_equal(lost.labels, 0);
	assert_int_equal(sink_parse_by("label:route,label:route", &o, &why), -EINVAL);
	assert_int_equal(sink_parse_by("label:comm,comm", &o, &why), -EINVAL);
	assert_int_equal(sink_parse_by("route", &o, &why), -EINVAL);
}

/* A stack of waits of each row of labels. */
static void make_waits(struct profile *p, const char *const (*rows)[2], size_t len)
{
	struct profile_labels set = { 0 };
	uint32_t frame, stack, id;

	assert_int_equal(profile_init(p), 0);
	assert_int_equal(profile_string(p, "wall", &p->kinds[0].name), 0);
	assert_int_equal(profile_string(p, PROFILE_NANOSECONDS, &p->kinds[0].unit), 0);
	frame = make_frame(p, "wait", PROFILE_NATIVE);
	assert_int_equal(profile_stack(p, &frame, 1, &stack), 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(profile_labels_put(p, &set, rows[i][0], strlen(rows[i][0]),
					 rows[i][1], strlen(rows[i][1])),
			0);
	assert_int_equal(profile_labels(p, &set, &id), 0);
	assert_int_equal(profile_add(p, stack, id, 5000000000), 0);
}

static void the_label_idle_alone_is_counted_and_not_warned_of(void **state)
{
	static const char *const idle[][2] = { { PROFILE_IDLE_KEY, "yes" } };
	static const char *const others[][2] = { { "e", "1" }, { PROFILE_IDLE_KEY, "yes" },
		{ "a", "1" }, { "b", "1" }, { "c", "1" }, { "d", "1" }, { "route", "/a" } };
	static const char *const formats[] = { "folded", "svg", "speedscope", "firefox" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_(profile_done) struct profile alone = { 0 }, more = { 0 };
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		const struct sink *sink = sink_find(formats[i]);
		char text[SINK_LOST_TEXT_MAX];
		struct sink_lost lost;

		make_waits(&alone, idle, ARRAY_SIZE(idle));
		write_as(formats[i], &by_comm, &alone, &out, &lost);
		assert_int_equal(lost.labels, 1);
		assert_null(sink_lost_text(&lost, sink, 0, text));
		make_waits(&more, others, ARRAY_SIZE(others));
		write_as(formats[i], &by_comm, &more, &out, &lost);
		assert_non_null(sink_lost_text(&lost, sink, 0, text));
		assert_non_null(strstr(text, "labels of 1 samples: left out e, a, b, c, ..."));
		assert_null(sink_lost_text(&lost, sink, 1, text));
	}
}

static void waits_that_are_left_out_are_said_in_seconds(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	char text[SINK_LOST_TEXT_MAX];
	struct sink_lost lost;
	uint32_t wall;

	(void)state;
	make(&p);
	wall = profile_kind_find(&p, "wall", 4);
	assert_int_equal(profile_string(&p, PROFILE_NANOSECONDS, &p.kinds[wall].unit), 0);
	for (size_t i = 0; i < p.samples.len; i++)
		p.samples.data[i].value *= p.samples.data[i].kind == wall ? 500000000 : 1;
	write_as("folded", &by_comm, &p, &out, &lost);
	assert_string_equal(sink_lost_text(&lost, sink_find("folded"), 0, text),
		"folded has one kind of value: left out wall (2.500 s); -e chooses a kind");
}

static void has(const struct buf *out, const char *text)
{
	if (!memmem(out->data, out->len, text, strlen(text)))
		fail_msg("no %s", text);
}

static void a_marker_of_the_firefox_profiler_is_an_event(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct sink_lost lost;

	(void)state;
	make(&p);
	write_as("firefox", &by_comm, &p, &out, &lost);
	has(&out, "\"markers\":{\"length\":1,\"category\":[0]");
	has(&out, "\"startTime\":[0.0005]");
	has(&out, "\"endTime\":[0.0025]");
	has(&out, "\"gc pause\"");
	has(&out, "\"cause\":{\"time\":0.0005,\"stack\":0}");
	has(&out, "\"name\":\"web (wall)\"");
	has(&out, "\"weightType\":\"tracing-ms\"");
}

static void events_have_limits_that_count(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	char text[PROFILE_EVENT_BYTES_MAX + 2];
	struct profile_event event = { .stack = PROFILE_NO_STACK };

	(void)state;
	make(&p);
	event.labels = p.events.data[0].labels;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(profile_event(&p, &event, text), 0);
	assert_int_equal(p.events_cut, 1);
	assert_int_equal(strlen(profile_text(&p, p.events.data[1].text)), PROFILE_EVENT_BYTES_MAX);
	while (p.events.len < PROFILE_EVENTS_MAX)
		assert_int_equal(profile_event(&p, &event, "x"), 0);
	assert_int_equal(profile_event(&p, &event, "x"), 0);
	assert_int_equal(p.events_dropped, 1);
	profile_sort(&p);
	assert_int_equal(p.events.data[p.events.len - 1].time_ns, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_counts_what_it_has_no_place_for),
		cmocka_unit_test(a_profile_of_one_kind_loses_nothing),
		cmocka_unit_test(by_keeps_the_free_labels_that_it_names),
		cmocka_unit_test(the_label_idle_alone_is_counted_and_not_warned_of),
		cmocka_unit_test(waits_that_are_left_out_are_said_in_seconds),
		cmocka_unit_test(a_marker_of_the_firefox_profiler_is_an_event),
		cmocka_unit_test(events_have_limits_that_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
