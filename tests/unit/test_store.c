/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - segments, the directory of them, and what is asked of it. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "make_store.h"
#include "store/merge.h"
#include "store/query.h"

static void a_segment_is_folded_text_to_any_zstd_reader(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	char text[sizeof(lines) + 16];

	make(*state, T0, MINUTE, lines, &bytes);
	assert_int_equal(
		ZSTD_decompress(text, sizeof(text), bytes.data, bytes.len), sizeof(lines) - 1);
	assert_memory_equal(text, lines, sizeof(lines) - 1);
}

static void lines_are_grouped_by_their_first_frame(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(segment_freep) struct segment *s = NULL;
	struct why why;

	make(*state, T0, MINUTE, lines, &bytes);
	assert_int_equal(segment_open(bytes.data, bytes.len, &s, &why), 0);
	assert_int_equal(s->groups.len, 3);
	assert_int_equal(s->samples, 50);
	assert_string_equal(s->groups.data[1].name, "web");
	assert_int_equal(s->groups.data[1].samples, 42);
	assert_int_equal(segment_read(s, 1, &text), 0);
	assert_string_equal(text.data, "web;main;a b 2\nweb;main;c 40\n");
	assert_int_equal(s->about.hz, 19);
	assert_string_equal(s->about.by, "container,comm");
}

static void groups_over_the_limit_share_the_last_one(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf back = BUF_INIT;
	_cleanup_(segment_freep) struct segment *s = NULL;
	struct why why;

	for (int i = 0; i < SEGMENT_GROUPS_MAX + 7; i++)
		assert_int_equal(buf_printf(&text, "c%05d;main 2\n", i), 0);
	make(*state, T0, MINUTE, text.data, &bytes);
	assert_int_equal(segment_open(bytes.data, bytes.len, &s, &why), 0);
	assert_int_equal(s->groups.len, SEGMENT_GROUPS_MAX + 1);
	assert_string_equal(s->groups.data[SEGMENT_GROUPS_MAX].name, "");
	assert_int_equal(s->groups.data[SEGMENT_GROUPS_MAX].samples, 14);
	read_all(s, &back);
	assert_string_equal(back.data, text.data);
}

static void an_interval_without_samples_is_a_segment_too(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(segment_freep) struct segment *s = NULL;
	struct why why;

	make(*state, T0, MINUTE, "", &bytes);
	assert_int_equal(segment_open(bytes.data, bytes.len, &s, &why), 0);
	assert_int_equal(s->groups.len, 0);
	assert_int_equal(s->samples, 0);
}

static void a_line_without_a_count_is_refused(void **state)
{
	static const char *const texts[] = { "a;b\n", "a;b 12", "a;b -3\n", "a;b 3x\n", "3\n",
		"a 99999999999999999999999\n", "\n" };
	const struct segment_about about = { .host = "", .by = "", .account = "", .hz = 19 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(buf_done) struct buf bytes = BUF_INIT;
		int err = segment_write(&about,
			(struct bytes){ (const uint8_t *)texts[i], strlen(texts[i]) }, &bytes);

		if (err != -EBADMSG)
			fail_msg("%s: %d", texts[i], err);
	}
}

/* Whoever makes cgroups has as many names as he likes, of many bytes each. */
static void names_of_a_segment_do_not_outgrow_its_head(void **state)
{
	const struct segment_about about = { .host = "", .by = "a", .account = "{}", .hz = 19 };
	_cleanup_(buf_done) struct buf text = BUF_INIT, bytes = BUF_INIT, back = BUF_INIT;
	_cleanup_(segment_freep) struct segment *s = NULL;
	struct why why;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		buf_printf(&text, "%04d", i);
		for (int n = 0; n < 3000; n++)
			buf_putc(&text, '"');
		buf_puts(&text, ";f 1\n");
	}
	assert_int_equal(segment_write(&about,
				 (struct bytes){ (const uint8_t *)text.data, text.len }, &bytes),
		0);
	assert_int_equal(segment_open(bytes.data, bytes.len, &s, &why), 0);
	assert_int_equal(s->samples, 4000);
	for (size_t i = 0; i < s->groups.len; i++)
		assert_int_equal(segment_read(s, i, &back), 0);
	assert_int_equal(back.len, text.len);
	assert_memory_equal(back.data, text.data, text.len);
}

static void a_segment_that_does_not_fit_is_an_error(void **state)
{
	static const char text[] = "a;b 1\nb;c 2\n";
	const struct bytes bytes = { (const uint8_t *)text, strlen(text) };
	const struct segment_about about = { .host = "", .by = "a,b", .account = "{}", .hz = 19 };
	_cleanup_(buf_done) struct buf whole = BUF_INIT;

	(void)state;
	assert_int_equal(segment_write(&about, bytes, &whole), 0);
	for (size_t max = 1; max < whole.len; max++) {
		_cleanup_(buf_done) struct buf part = { .max_bytes = max };

		if (segment_write(&about, bytes, &part) != -EFBIG)
			fail_msg("%zu of %zu bytes", max, whole.len);
	}
}

/* Each cut and each changed byte: refused, or read as what it is; never more than it holds. */
static void damage_is_seen(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;

	make(*state, T0, MINUTE, lines, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		_cleanup_(freep) char *copy = malloc(len + 1);
		struct segment *s = NULL;
		struct why why;

		memcpy(copy, bytes.data, len);
		if (segment_open(copy, len, &s, &why) == 0)
			fail_msg("cut to %zu of %zu bytes and taken", len, bytes.len);
	}
	for (size_t i = 0; i < bytes.len; i++) {
		_cleanup_(freep) char *copy = malloc(bytes.len);
		_cleanup_(segment_freep) struct segment *s = NULL;
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct why why;

		memcpy(copy, bytes.data, bytes.len);
		copy[i] ^= 0x15;
		if (segment_open(copy, bytes.len, &s, &why) < 0)
			continue;
		for (size_t g = 0; g < s->groups.len; g++)
			segment_read(s, g, &text);
		if (text.len > sizeof(lines) - 1)
			fail_msg("byte %zu changed: %zu bytes of text", i, text.len);
	}
}

static void only_the_writer_may_read_its_lock(void **state)
{
	struct place *place = *state;
	struct stat st;
	char path[80];

	snprintf(path, sizeof(path), "%s/lock", place->path);
	for (int round = 0; round < 2; round++) {
		open_store(place, STORE_WRITE);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		/* as an earlier version made it */
		assert_int_equal(chmod(path, 0644), 0);
	}
}

static void what_was_put_is_there_when_it_is_opened_again(void **state)
{
	struct place *place = *state;
	struct store_report report = open_store(place, STORE_WRITE);

	assert_int_equal(store_len(place->store), 0);
	put(place, T0 + MINUTE, lines);
	put(place, T0, "web;x 7\n");
	assert_int_equal(store_len(place->store), 2);
	assert_int_equal(store_entry(place->store, 0)->start_ns, T0);
	report = open_store(place, STORE_READ);
	assert_int_equal(report.damaged, 0);
	assert_int_equal(store_len(place->store), 2);
	assert_string_equal(
		store_entry(place->store, 0)->name, "20270115T080000.000Z-60s.folded.zst");
	assert_int_equal(store_entry(place->store, 0)->samples, 7);
	assert_int_equal(store_entry(place->store, 1)->groups_len, 3);
	assert_string_equal(
		store_text(place->store,
			store_group(place->store, store_entry(place->store, 1), 1)->name),
		"web");
}

static void segments_of_one_moment_do_not_overwrite_each_other(void **state)
{
	struct place *place = *state;

	open_store(place, STORE_WRITE);
	put(place, T0, "a;x 1\n");
	put(place, T0, "a;x 2\n");
	put(place, T0, "a;x 4\n");
	open_store(place, STORE_READ);
	assert_int_equal(store_len(place->store), 3);
	assert_int_equal(store_entry(place->store, 0)->samples +
			store_entry(place->store, 1)->samples +
			store_entry(place->store, 2)->samples,
		7);
}

static void write_file(const struct place *place, const char *name, const char *text, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", place->path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static bool exists(const struct place *place, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place->path, name);
	return access(path, F_OK) == 0;
}

static void the_index_is_made_anew_when_it_is_lost_or_wrong(void **state)
{
	static const char *const texts[] = { NULL, "", "{}\n[1]\nnonsense\n\n",
		"{\"name\":\"20270115T080000.000Z-60s.folded.zst\",\"id\":9,\"start_ns\":5,\"end_"
		"ns\":6,"
		"\"samples\":1,\"bytes\":3,\"hz\":9,\"by\":\"\",\"groups\":[],\"sources\":[]}\n" };
	struct place *place = *state;

	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/index", place->path);
		if (texts[i])
			write_file(place, "index", texts[i], strlen(texts[i]));
		else
			unlink(path);
		for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
			open_store(place, mode);
			assert_int_equal(store_len(place->store), 1);
			assert_int_equal(store_entry(place->store, 0)->samples, 50);
		}
	}
}

static void damaged_and_foreign_files_are_set_aside(void **state)
{
	static const char name[] = "20270115T090000.000Z-60s.folded.zst";
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct place *place = *state;
	struct store_report report;

	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	make(place, T0 + HOUR, MINUTE, lines, &bytes);
	write_file(place, name, bytes.data, bytes.len - 1);
	write_file(place, "segment.part", bytes.data, bytes.len / 2);
	write_file(place, "segment.0123abcd.part", bytes.data, bytes.len / 2);
	write_file(place, "index.0123abcd.part", bytes.data, 1);
	write_file(place, "mine.0123abcd.part", "mine", 4);
	write_file(place, "notes.txt", "mine", 4);
	report = open_store(place, STORE_READ);
	assert_int_equal(report.damaged, 1);
	assert_true(exists(place, name));
	report = open_store(place, STORE_WRITE);
	assert_int_equal(report.damaged, 1);
	assert_int_equal(report.leftover, 3);
	assert_string_equal(report.last, name);
	assert_int_equal(store_len(place->store), 1);
	assert_false(exists(place, name));
	assert_false(exists(place, "segment.part"));
	assert_false(exists(place, "segment.0123abcd.part"));
	assert_false(exists(place, "index.0123abcd.part"));
	assert_true(exists(place, "mine.0123abcd.part"));
	assert_true(exists(place, "notes.txt"));
	assert_true(exists(place, "damaged/20270115T090000.000Z-60s.folded.zst"));
}

/* Who opens a FIFO waits for the other end. */
static void fifos_in_the_place_of_its_files_make_nobody_wait(void **state)
{
	static const char *const names[] = { "index", "lock", "segment.part",
		"20270115T090000.000Z-60s.folded.zst" };
	struct place *place = *state;
	char path[256];
	struct stat st;

	alarm(20);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", place->path, names[i]);
		assert_int_equal(mkfifo(path, 0644), 0);
	}
	open_store(place, STORE_READ);
	assert_int_equal(store_len(place->store), 0);
	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	open_store(place, STORE_READ);
	assert_int_equal(store_len(place->store), 1);
	open_store(place, STORE_WRITE);
	snprintf(path, sizeof(path), "%s/index", place->path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	alarm(0);
}

static void only_one_writes(void **state)
{
	struct place *place = *state;
	struct store_report report;
	struct store *second;
	struct why why;

	open_store(place, STORE_WRITE);
	assert_int_equal(store_open(AT_FDCWD, place->path, STORE_WRITE, &second, &report, &why),
		-EBUSY);
}

static void a_store_that_is_gone_says_so(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct place *place = *state;
	struct why why;

	open_store(place, STORE_WRITE);
	assert_int_equal(nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	make(place, T0, MINUTE, lines, &bytes);
	assert_int_equal(store_put(place->store,
				 (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, &why),
		STORE_GONE);
	assert_int_equal(mkdir(place->path, 0755), 0);
	open_store(place, STORE_WRITE);
	put(place, T0, lines);
}

static void ask(struct place *place, const struct query *query, const char *says)
{
	struct query_answer answer;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct why why;

	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(place->store, query, &answer, &why), 0);
	assert_int_equal(merge_write(&answer.merge, NSEC_PER_SEC / answer.hz, &text), 0);
	assert_string_equal(text.data ? text.data : "", says);
	query_answer_done(&answer);
}

static void questions_are_answered_by_span_label_and_function(void **state)
{
	struct query all = { .until_ns = UINT64_MAX };
	struct query later = { .since_ns = T0 + MINUTE, .until_ns = T0 + 2 * MINUTE };
	struct query web = {
		.until_ns = UINT64_MAX, .matches = { { "container", "web" } }, .matches_len = 1
	};
	struct query both = { .until_ns = UINT64_MAX,
		.matches = { { "comm", "main" }, { "container", "web-2" } },
		.matches_len = 2 };
	struct query function = { .until_ns = UINT64_MAX };
	struct place *place = *state;
	struct why why;

	assert_int_equal(pattern_new("^a b$|^rea", &function.function, &why), 0);
	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	put(place, T0 + MINUTE, "web;main;c 2\nweb;other;main 1\n");
	open_store(place, STORE_READ);
	ask(place, &all,
		"db;main;read 3\nweb-2;main 5\nweb;main;a b 2\nweb;main;c 42\nweb;other;main 1\n");
	ask(place, &later, "web;main;c 2\nweb;other;main 1\n");
	ask(place, &web, "web;main;a b 2\nweb;main;c 42\nweb;other;main 1\n");
	ask(place, &both, "web-2;main 5\n");
	ask(place, &function, "db;main;read 3\nweb;main;a b 2\n");
	pattern_free(function.function);
}

static void what_no_segment_can_tell_is_said(void **state)
{
	struct query pod = {
		.until_ns = UINT64_MAX, .matches = { { "pod", "x" } }, .matches_len = 1
	};
	struct query before = { .until_ns = T0 };
	struct place *place = *state;
	struct query_answer answer;
	struct why why;

	open_store(place, STORE_WRITE);
	put(place, T0, lines);
	open_store(place, STORE_READ);
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(place->store, &pod, &answer, &why), -ENOENT);
	assert_int_equal(query_run(place->store, &before, &answer, &why), -ENOENT);
	query_answer_done(&answer);
}

static void many_segments_are_read_as_one_and_in_order(void **state)
{
	struct query all = { .until_ns = UINT64_MAX };
	struct place *place = *state;
	struct query_answer answer;
	struct why why;

	open_store(place, STORE_WRITE);
	for (int i = 0; i < 200; i++)
		put(place, T0 + (uint64_t)i * MINUTE, "a;b 1\n");
	open_store(place, STORE_READ);
	ask(place, &all, "a;b 200\n");
	assert_int_equal(query_answer_init(&answer), 0);
	assert_int_equal(query_run(place->store, &all, &answer, &why), 0);
	assert_int_equal(answer.points.len, 200);
	for (size_t i = 1; i < answer.points.len; i++)
		assert_true(answer.points.data[i].start_ns > answer.points.data[i - 1].start_ns);
	query_answer_done(&answer);
}

static void samples_of_different_rates_weigh_by_their_time(void **state)
{
	_cleanup_(merge_done) struct merge merge;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	static const char slow[] = "a;b 10\nc 1\n", fast[] = "a;b 100\n";

	(void)state;
	assert_int_equal(merge_init(&merge), 0);
	assert_int_equal(
		merge_add_text(&merge, (struct bytes){ (const uint8_t *)slow, sizeof(slow) - 1 },
			NSEC_PER_SEC / 10),
		0);
	assert_int_equal(
		merge_add_text(&merge, (struct bytes){ (const uint8_t *)fast, sizeof(fast) - 1 },
			NSEC_PER_SEC / 100),
		0);
	assert_int_equal(merge_total(&merge), 2 * NSEC_PER_SEC + NSEC_PER_SEC / 10);
	assert_int_equal(merge_write(&merge, NSEC_PER_SEC / 10, &out), 0);
	assert_string_equal(out.data, "a;b 20\nc 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_the_writer_may_read_its_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_segment_is_folded_text_to_any_zstd_reader, setup, teardown),
		cmocka_unit_test_setup_teardown(
			lines_are_grouped_by_their_first_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(
			groups_over_the_limit_share_the_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_interval_without_samples_is_a_segment_too, setup, teardown),
		cmocka_unit_test(a_line_without_a_count_is_refused),
		cmocka_unit_test(a_segment_that_does_not_fit_is_an_error),
		cmocka_unit_test(names_of_a_segment_do_not_outgrow_its_head),
		cmocka_unit_test_setup_teardown(damage_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_was_put_is_there_when_it_is_opened_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			segments_of_one_moment_do_not_overwrite_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_index_is_made_anew_when_it_is_lost_or_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(
			damaged_and_foreign_files_are_set_aside, setup, teardown),
		cmocka_unit_test_setup_teardown(
			fifos_in_the_place_of_its_files_make_nobody_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(only_one_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_is_gone_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(
			questions_are_answered_by_span_label_and_function, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_segment_can_tell_is_said, setup, teardown),
		cmocka_unit_test_setup_teardown(
			many_segments_are_read_as_one_and_in_order, setup, teardown),
		cmocka_unit_test(samples_of_different_rates_weigh_by_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
