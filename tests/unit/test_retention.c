/* SPDX-License-Identifier: Apache-2.0 */
/* test_retention.c - which segments go, and which become one. */
#include "unit.h"

#include "make_store.h"
#include "store/compact.h"
#include "store/retention.h"

static void the_oldest_go_by_age_and_by_size(void **state)
{
	struct retention r = { .keep_ns = HOUR,
		.bytes_max = UINT64_MAX,
		.whole_ns = UINT64_MAX,
		.segments_max = 100 };
	struct place *place = *state;
	uint64_t one;

	open_store(place, STORE_WRITE);
	for (int i = 0; i < 5; i++)
		put(place, T0 + (uint64_t)i * HOUR / 2, lines);
	one = store_entry(place->store, 0)->bytes;
	assert_int_equal(retention_expired(&r, place->store, T0 + MINUTE), 0);
	assert_int_equal(retention_expired(&r, place->store, T0 + MINUTE + 2 * HOUR), 2);
	/* a clock that was set back */
	assert_int_equal(retention_expired(&r, place->store, T0 - 9 * HOUR), 0);
	r.bytes_max = 2 * one + one / 2;
	assert_int_equal(retention_expired(&r, place->store, T0), 3);
	assert_int_equal(store_drop(place->store, 0), 0);
	assert_int_equal(store_len(place->store), 4);
	open_store(place, STORE_READ);
	assert_int_equal(store_len(place->store), 4);
}

/* So that what one interval takes does not shorten the time that is kept. */
static void an_interval_may_take_its_part_of_the_store(void **state)
{
	struct retention r = { .keep_ns = 7 * 24 * HOUR,
		.bytes_max = 2ULL << 30,
		.segments_max = STORE_SEGMENTS_MAX };

	(void)state;
	assert_int_equal(retention_interval_bytes(&r, MINUTE), (2ULL << 30) / (7 * 24 * 60 + 1));
	assert_int_equal(retention_interval_bytes(&r, HOUR), (2ULL << 30) / (7 * 24 + 1));
	assert_int_equal(retention_interval_bytes(&r, MINUTE / 60), RETENTION_BYTES_MIN);
	r.keep_ns = MINUTE;
	assert_int_equal(retention_interval_bytes(&r, HOUR), 2ULL << 30);
}

static void an_hour_of_segments_becomes_one(void **state)
{
	struct retention r = { .whole_ns = HOUR, .segments_max = 100 };
	_cleanup_(store_file_done) struct store_file file = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct place *place = *state;
	struct retention_run run;
	struct why why;
	size_t bad;

	open_store(place, STORE_WRITE);
	put(place, T0 + 3 * MINUTE, lines);
	put(place, T0 + 4 * MINUTE, "db;main;read 1\nweb;z 1\n");
	put(place, T0 + HOUR, lines);
	assert_false(retention_find_run(&r, place->store, T0 + HOUR, &run));
	assert_true(retention_find_run(&r, place->store, T0 + 3 * HOUR, &run));
	assert_int_equal(run.first, 0);
	assert_int_equal(run.len, 2);
	assert_int_equal(compact_run(place->store, &run, &bad, &why), 0);
	open_store(place, STORE_READ);
	assert_int_equal(store_len(place->store), 2);
	assert_int_equal(store_entry(place->store, 0)->start_ns, T0 + 3 * MINUTE);
	assert_int_equal(store_entry(place->store, 0)->end_ns, T0 + 5 * MINUTE);
	assert_int_equal(store_load(place->store, store_entry(place->store, 0), &file, &why), 0);
	read_all(file.segment, &text);
	assert_string_equal(text.data,
		"db;main;read 4\nweb-2;main 5\nweb;main;a b 2\n"
		"web;main;c 40\nweb;z 1\n");
	assert_non_null(memmem(
		file.segment->account.data, file.segment->account.len, "\"expected\":100", 14));
	assert_non_null(
		memmem(file.segment->account.data, file.segment->account.len, "\"hz\":19", 7));
}

static void too_many_are_put_together_sooner_and_then_the_oldest_go(void **state)
{
	struct retention r = { .keep_ns = UINT64_MAX,
		.bytes_max = UINT64_MAX,
		.whole_ns = UINT64_MAX,
		.segments_max = 8 };
	struct place *place = *state;
	struct retention_run run;
	struct why why;
	size_t bad;

	open_store(place, STORE_WRITE);
	for (int i = 0; i < 6; i++)
		put(place, T0 + (uint64_t)i * 20 * MINUTE, lines);
	assert_false(retention_find_run(&r, place->store, T0, &run));
	put(place, T0 + 2 * HOUR, lines);
	assert_true(retention_find_run(&r, place->store, T0, &run));
	assert_int_equal(run.first, 0);
	assert_int_equal(run.len, 3);
	assert_int_equal(compact_run(place->store, &run, &bad, &why), 0);
	assert_int_equal(store_len(place->store), 5);
	/* The last hour may not be over. */
	for (int i = 1; i < 5; i++)
		put(place, T0 + 2 * HOUR + (uint64_t)i * MINUTE, lines);
	assert_true(retention_find_run(&r, place->store, T0, &run));
	assert_int_equal(compact_run(place->store, &run, &bad, &why), 0);
	assert_int_equal(store_len(place->store), 7);
	assert_false(retention_find_run(&r, place->store, T0, &run));
	assert_int_equal(retention_expired(&r, place->store, T0), 0);
	for (int i = 5; i < 8; i++)
		put(place, T0 + 2 * HOUR + (uint64_t)i * MINUTE, lines);
	assert_int_equal(retention_expired(&r, place->store, T0), 2);
}

static void what_a_crash_left_beside_the_hour_is_not_counted_twice(void **state)
{
	const struct segment_about about = { .host = "h",
		.by = "container,comm",
		.account = "",
		.id = 77,
		.start_ns = T0,
		.end_ns = T0 + 2 * MINUTE,
		.hz = 19,
		.sources = (uint64_t[]){ 1, 2 },
		.sources_len = 2 };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct place *place = *state;
	struct store_report report;
	struct why why;

	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	put(place, T0 + MINUTE, lines);
	put(place, T0 + 2 * MINUTE, lines);
	assert_int_equal(
		segment_write(&about, (struct bytes){ (const uint8_t *)lines, sizeof(lines) - 1 },
			&bytes),
		0);
	assert_int_equal(store_put(place->store,
				 (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, &why),
		0);
	report = open_store(place, STORE_READ);
	assert_int_equal(report.stale, 2);
	assert_int_equal(store_len(place->store), 2);
	report = open_store(place, STORE_WRITE);
	assert_int_equal(report.stale, 2);
	report = open_store(place, STORE_WRITE);
	assert_int_equal(report.stale, 0);
	assert_int_equal(store_len(place->store), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_oldest_go_by_age_and_by_size, setup, teardown),
		cmocka_unit_test(an_interval_may_take_its_part_of_the_store),
		cmocka_unit_test_setup_teardown(an_hour_of_segments_becomes_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			too_many_are_put_together_sooner_and_then_the_oldest_go, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_a_crash_left_beside_the_hour_is_not_counted_twice, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
