/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_kinds.c - segments with other kinds of value beside CPU samples, and what is asked of
 * them; and stores of version 0.1, which have none. */
#include "unit.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include "make_store.h"
#include "profile/kinds.h"
#include "store/answer.h"
#include "store/compact.h"
#include "store/index.h"
#include "store/query.h"

static const char wall_lines[] = "db;main;futex 9000\nweb;main;poll 70\n";
static const char sleep_lines[] = "web;main;nap 3\n";

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

/* CPU samples, wall time in nanoseconds and samples that stand for 50 ms each. */
static void make_kinds(struct place *place, uint64_t start_ns, const char *wall, struct buf *out)
{
	const struct segment_kind kinds[] = {
		{ .name = "wall", .unit = PROFILE_NANOSECONDS, .text = bytes_of(wall) },
		{ .name = "nap", .unit = "", .period_ns = 50000000, .text = bytes_of(sleep_lines) },
	};
	const struct segment_about about = { .host = "here",
		.by = "container,comm",
		.account = "{\"hz\": 19}",
		.id = place->next_id++,
		.start_ns = start_ns,
		.end_ns = start_ns + MINUTE,
		.hz = 19,
		.kinds = kinds,
		.kinds_len = ARRAY_SIZE(kinds) };

	assert_int_equal(segment_write(&about, bytes_of(lines), out), 0);
}

static void put_kinds(struct place *place, uint64_t start_ns, const char *wall)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct why why;

	make_kinds(place, start_ns, wall, &bytes);
	assert_int_equal(store_put(place->store,
				 (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, &why),
		0);
}

/* The answer as sorted lines; its name, unit and period are as they say. */
static void ask(struct place *place, const char *kind, const char *container, const char *says)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct query query = { .until_ns = UINT64_MAX, .kind = kind };
	struct why why;

	if (container) {
		query.matches[0] = (struct query_match){ "container", container };
		query.matches_len = 1;
	}
	assert_int_equal(query_answer_init(&answer), 0);
	if (query_run(place->store, &query, &answer, &why) < 0)
		fail_msg("%s", why.text);
	assert_int_equal(merge_write(&answer.merge, answer_period_ns(&answer), &text), 0);
	assert_string_equal(buf_text(&text), says);
	assert_string_equal(answer_kind(&answer), kind ? kind : "cpu");
}

static void an_interval_keeps_all_its_kinds(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT, text = BUF_INIT;
	_cleanup_(segment_freep) struct segment *s = NULL;
	struct why why;

	make_kinds(*state, T0, wall_lines, &bytes);
	assert_int_equal(segment_open(bytes.data, bytes.len, &s, &why), 0);
	assert_int_equal(s->samples, 50);
	assert_int_equal(s->about.kinds_len, 2);
	assert_string_equal(s->about.kinds[0].name, "wall");
	assert_string_equal(s->about.kinds[0].unit, "nanoseconds");
	assert_int_equal(s->about.kinds[1].period_ns, 50000000);
	assert_int_equal(s->groups.len, 5);
	assert_int_equal(s->groups.data[3].kind, 1);
	assert_string_equal(s->groups.data[3].name, "");
	assert_int_equal(s->groups.data[3].samples, 9070);
	assert_int_equal(s->account.len, strlen("{\"hz\": 19}"));
	assert_memory_equal(s->account.data, "{\"hz\": 19}", s->account.len);
	read_all(s, &text);
	assert_int_equal(text.len, strlen(lines) + strlen(wall_lines) + strlen(sleep_lines));
	assert_non_null(strstr(text.data, wall_lines));
}

static void other_readers_of_zstd_see_cpu_samples_alone(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	char text[sizeof(lines) + 16];

	make_kinds(*state, T0, wall_lines, &bytes);
	assert_int_equal(
		ZSTD_decompress(text, sizeof(text), bytes.data, bytes.len), sizeof(lines) - 1);
	assert_memory_equal(text, lines, sizeof(lines) - 1);
}

/* A stoker of before reads it. */
static void a_segment_of_cpu_samples_is_of_version_1(void **state)
{
	_cleanup_(buf_done) struct buf plain = BUF_INIT, kinds = BUF_INIT;

	make(*state, T0, MINUTE, lines, &plain);
	make_kinds(*state, T0, wall_lines, &kinds);
	assert_non_null(memmem(plain.data, plain.len, "{\"stoker\":1,", 12));
	assert_null(memmem(plain.data, plain.len, "kinds", 5));
	assert_non_null(memmem(kinds.data, kinds.len, "{\"stoker\":2,", 12));
}

static void a_question_is_of_one_kind(void **state)
{
	struct place *place = *state;

	open_store(place, STORE_WRITE);
	put_kinds(place, T0, wall_lines);
	put_kinds(place, T0 + MINUTE, "db;main;futex 500\nnew;main;x 1\n");
	put(place, T0 + 2 * MINUTE, "web;main;c 1\n");
	for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
		/* Without the index, which is then made anew, all is read from the segments. */
		if (mode == STORE_WRITE) {
			char path[128];

			snprintf(path, sizeof(path), "%s/index", place->path);
			assert_int_equal(unlink(path), 0);
			open_store(place, STORE_WRITE);
		}
		open_store(place, STORE_READ);
		ask(place, NULL, NULL,
			"db;main;read 6\nweb-2;main 10\nweb;main;a b 4\nweb;main;c 81\n");
		ask(place, "cpu", "web", "web;main;a b 4\nweb;main;c 81\n");
		ask(place, "wall", NULL, "db;main;futex 9500\nnew;main;x 1\nweb;main;poll 70\n");
		ask(place, "wall", "db", "db;main;futex 9500\n");
		ask(place, "nap", NULL, "web;main;nap 6\n");
	}
}

static void a_kind_that_the_store_does_not_have_is_said(void **state)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	struct query query = { .until_ns = UINT64_MAX, .kind = "alloc" };
	struct place *place = *state;
	struct why why;

	open_store(place, STORE_WRITE);
	put_kinds(place, T0, wall_lines);
	put(place, T0 + MINUTE, lines);
	open_store(place, STORE_READ);
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(place->store, &query, &answer, &why), -ENOENT);
	assert_string_equal(why.text,
		"the store has no values of the kind alloc of that time; it has cpu, wall, nap");
	query.kind = "wall";
	assert_int_equal(query_run(place->store, &query, &answer, &why), 0);
	assert_int_equal(answer.segments, 1);
	assert_int_equal(answer.other_kind, 1);
	assert_true(answer_is_time(&answer));
	assert_int_equal(merge_total(&answer.merge), 9070);
}

static void an_hour_has_the_sums_of_each_kind(void **state)
{
	const struct retention_run run = { 0, 3 };
	struct place *place = *state;
	struct why why;
	size_t bad;

	open_store(place, STORE_WRITE);
	put_kinds(place, T0, wall_lines);
	put(place, T0 + MINUTE, "web;main;c 1\n");
	put_kinds(place, T0 + 2 * MINUTE, "db;main;futex 500\n");
	assert_int_equal(compact_run(place->store, &run, &bad, &why), 0);
	assert_int_equal(store_len(place->store), 1);
	open_store(place, STORE_READ);
	assert_int_equal(store_entry(place->store, 0)->kinds_len, 2);
	ask(place, NULL, NULL, "db;main;read 6\nweb-2;main 10\nweb;main;a b 4\nweb;main;c 81\n");
	ask(place, "wall", NULL, "db;main;futex 9500\nweb;main;poll 70\n");
	ask(place, "nap", NULL, "web;main;nap 6\n");
}

static void an_answer_is_a_profile_of_its_kind(void **state)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	_cleanup_(profile_done) struct profile profile = { 0 };
	_cleanup_(buf_done) struct buf trend = BUF_INIT, top = BUF_INIT;
	struct query query = { .until_ns = UINT64_MAX, .kind = "wall" };
	struct place *place = *state;
	uint64_t dropped;
	struct why why;

	open_store(place, STORE_WRITE);
	put_kinds(place, T0, "web;main;poll 120000000000\n");
	open_store(place, STORE_READ);
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(place->store, &query, &answer, &why), 0);
	assert_int_equal(profile_init(&profile), 0);
	assert_int_equal(answer_profile(&answer, &profile), 0);
	assert_int_equal(profile.kinds_len, 1);
	assert_string_equal(profile_kind_name(&profile, 0), "wall");
	assert_string_equal(profile_kind_unit(&profile, 0), "nanoseconds");
	assert_int_equal(profile_total(&profile), 120000000000);
	assert_string_equal(profile_label_text(&profile, 0, PROFILE_KEY_CONTAINER), "web");
	assert_int_equal(answer_put_trend(&answer, &trend), 0);
	assert_non_null(strstr(trend.data, "threads\n"));
	assert_non_null(strstr(trend.data, "    2.000  #####"));
	assert_int_equal(answer_put_top(&answer, 5, &top, &dropped), 0);
	assert_string_equal(top.data,
		"   self           total          function, by seconds\n"
		"120.000 100.0%  120.000 100.0%  poll\n");
}

/* Columns stay columns. */
static void many_seconds_have_fewer_digits_after_the_point(void **state)
{
	static const char *const rows[][2] = {
		{ "web;main;poll 999999000000\n", "999.999 100.0%  999.999 100.0%  poll\n" },
		{ "web;main;poll 1412082944555\n", " 1412.1 100.0%   1412.1 100.0%  poll\n" },
		{ "web;main;poll 31536000000000000\n", "31536000 100.0% 31536000 100.0%  poll\n" },
	};
	struct place *place = *state;

	open_store(place, STORE_WRITE);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		put_kinds(place, T0 + i * MINUTE, rows[i][0]);
	open_store(place, STORE_READ);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(query_answer_done) struct query_answer answer = { 0 };
		_cleanup_(buf_done) struct buf top = BUF_INIT;
		uint64_t at = T0 + i * MINUTE, dropped;
		struct query query = { .since_ns = at, .until_ns = at + MINUTE, .kind = "wall" };
		struct why why;

		assert_int_equal(query_answer_init(&answer), 0);
		assert_int_equal(query_run(place->store, &query, &answer, &why), 0);
		assert_int_equal(answer_put_top(&answer, 1, &top, &dropped), 0);
		assert_string_equal(strchr(top.data, '\n') + 1, rows[i][1]);
	}
}

/* Each cut and each changed byte: refused, or read as no more than it holds. */
static void damage_is_seen(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;

	make_kinds(*state, T0, wall_lines, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		_cleanup_(freep) char *copy = malloc(len + 1);
		struct segment *s = NULL;
		struct why why;

		memcpy(copy, bytes.data, len);
		if (segment_open(copy, len, &s, &why) == 0)
			fail_msg("cut to %zu of %zu bytes and taken", len, bytes.len);
	}
	for (size_t i = 0; i < bytes.len; i++) {
		_cleanup_(segment_freep) struct segment *s = NULL;
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct why why;

		bytes.data[i] ^= 0x15;
		if (segment_open(bytes.data, bytes.len, &s, &why) == 0)
			for (size_t g = 0; g < s->groups.len; g++)
				segment_read(s, g, &text);
		bytes.data[i] ^= 0x15;
		if (text.len > strlen(lines) + strlen(wall_lines) + strlen(sleep_lines))
			fail_msg("byte %zu changed: %zu bytes of text", i, text.len);
	}
}

static void kinds_beyond_the_limit_are_refused(void **state)
{
	struct segment_kind kinds[SEGMENT_KINDS_MAX + 1];
	const struct segment_about about = { .host = "", .by = "a", .account = "{}", .hz = 19,
		.kinds = kinds, .kinds_len = SEGMENT_KINDS_MAX + 1 };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;

	(void)state;
	for (size_t i = 0; i <= SEGMENT_KINDS_MAX; i++)
		kinds[i] = (struct segment_kind){ "k", "", 0, bytes_of("a 1\n") };
	assert_int_equal(segment_write(&about, bytes_of(lines), &bytes), -EFBIG);
}

/* As version 0.1 left it: segments of version 1, and an index of them. */
static void a_store_of_version_0_1_is_read(void **state)
{
	struct query query = { .until_ns = UINT64_MAX };
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	_cleanup_(store_freep) struct store *store = NULL;
	struct store_report report;
	struct why why;

	(void)state;
	assert_int_equal(store_open(AT_FDCWD, "tests/golden/store-0.1", STORE_READ, &store, &report,
				 &why),
		0);
	assert_int_equal(store_len(store), 2);
	assert_int_equal(report.damaged, 0);
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(store, &query, &answer, &why), 0);
	assert_int_equal(answer.segments, 2);
	assert_int_equal(merge_total(&answer.merge) / (NSEC_PER_SEC / 199), 106);
	query.kind = "wall";
	assert_int_equal(query_run(store, &query, &answer, &why), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_interval_keeps_all_its_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(
			other_readers_of_zstd_see_cpu_samples_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_segment_of_cpu_samples_is_of_version_1, setup, teardown),
		cmocka_unit_test_setup_teardown(a_question_is_of_one_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_kind_that_the_store_does_not_have_is_said, setup, teardown),
		cmocka_unit_test_setup_teardown(an_hour_has_the_sums_of_each_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_is_a_profile_of_its_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(
			many_seconds_have_fewer_digits_after_the_point, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_seen, setup, teardown),
		cmocka_unit_test(kinds_beyond_the_limit_are_refused),
		cmocka_unit_test(a_store_of_version_0_1_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
