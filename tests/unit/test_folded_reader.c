/* SPDX-License-Identifier: Apache-2.0 */
/* test_folded_reader.c - folded text as a profile, and files that were written compressed. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "profile/folded_reader.h"
#include "sink/compress.h"
#include "sink/decompress.h"
#include "sink/sink.h"

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

/* What is read of the text, written again. */
static void expect(const char *text, const char *again, struct folded_counts want)
{
	static const struct sink_options options = { 0 };
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct folded_counts counts;

	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(folded_read(bytes_of(text), &p, &counts), 0);
	assert_int_equal(folded_write(&p, &options, &out), 0);
	assert_string_equal(out.data ? out.data : "", again);
	assert_int_equal(counts.lines, want.lines);
	assert_int_equal(counts.bad, want.bad);
	assert_int_equal(counts.bad_at, want.bad_at);
	assert_int_equal(counts.skipped, want.skipped);
	assert_int_equal(counts.comments, want.comments);
}

static void lines_are_stacks_with_a_count(void **state)
{
	(void)state;
	expect("main;work 3\nmain 1\n", "main 1\nmain;work 3\n",
		(struct folded_counts){ .lines = 2 });
	expect("main;a b c;d 3", "main;a b c;d 3\n", (struct folded_counts){ .lines = 1 });
	expect("a 1\r\na 2\r\n", "a 3\n", (struct folded_counts){ .lines = 2 });
	expect("", "", (struct folded_counts){ 0 });
}

static void a_sum_that_cannot_be_written_exactly_is_an_error(void **state)
{
	static const struct {
		const char *text;
		uint64_t large_at;
	} rows[] = {
		{ "a 9007199254740991\nb 1\n", 0 },
		{ "a 9007199254740991\nb 2\n", 2 },
		{ "a 5000000000000000\na 5000000000000000\nb 1\n", 2 },
		{ "a 1\n\na 1000000000000000000\n", 3 },
		{ "a 9007199254\nb 0.000001\n", 0 },
		{ "a 9000000000000\nb 0.000001\n", 1 },
		{ "a 0.1\nb 900719925474099\nc 0.2\n", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		struct folded_counts counts;

		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(folded_read(bytes_of(rows[i].text), &p, &counts),
			rows[i].large_at > 0 ? -ERANGE : 0);
		assert_int_equal(counts.large_at, rows[i].large_at);
		assert_int_equal(counts.bad, 0);
	}
}

static void suffixes_say_what_kind_a_frame_is(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	static const uint32_t classes[] = { PROFILE_NATIVE, PROFILE_KERNEL, PROFILE_INLINED,
		PROFILE_JIT, PROFILE_MARK };
	struct folded_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(
		folded_read(bytes_of("[truncated];a_[j];b_[i];c_[k];_[k] 1\n"), &p, &counts), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(classes); i++)
		assert_int_equal(profile_stack_frame(&p, 0, i)->class, classes[i]);
	assert_string_equal(profile_text(&p, profile_stack_frame(&p, 0, 1)->name), "c");
}

static void fractions_are_kept(void **state)
{
	static const struct {
		const char *text, *again;
		uint64_t total;
		uint32_t scale;
	} rows[] = {
		{ "a 31.23\nb 6.1\nc 2.567\nd 274.321\n", "a 31.23\nb 6.1\nc 2.567\nd 274.321\n",
			314218, 1000 },
		{ "a 2.0\nb 6.\nc 7\n", "a 2\nb 6\nc 7\n", 15, 1 },
		{ "a 0.05\na 1.95\n", "a 2\n", 200, 100 },
		{ "a 1.1234564\nb 0.9999996\n", "a 1.123456\nb 1\n", 2123456, 1000000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		struct folded_counts counts;

		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(folded_read(bytes_of(rows[i].text), &p, &counts), 0);
		if (profile_total(&p) != rows[i].total || p.kinds[0].scale != rows[i].scale)
			fail_msg("row %zu: %llu, scale %u", i,
				(unsigned long long)profile_total(&p), p.kinds[0].scale);
		assert_int_equal(counts.rounded, i == 3 ? 2 : 0);
		expect(rows[i].text, rows[i].again,
			(struct folded_counts){ .lines = counts.lines });
	}
}

static void lines_with_two_counts_are_counted(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct folded_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(folded_read(bytes_of("a;b 3\n\na;b 31 5\na 3.5 6\n"), &p, &counts), 0);
	assert_int_equal(counts.lines, 3);
	assert_int_equal(counts.pairs, 2);
	assert_int_equal(counts.pairs_at, 3);
}

/* The keys of the first line are labels: what is written with them is the same text. */
static void labels_are_labels_again(void **state)
{
	static const char text[] = "# stoker labels: container,comm,pid,cpu 0\n"
				   "?;my app;12;?;main;f_[k] 2\nweb;x;?;3 1\n";
	static const struct sink_options options = {
		.by = { PROFILE_KEY_CONTAINER, PROFILE_KEY_COMM, PROFILE_KEY_PID, PROFILE_KEY_CPU },
		.by_len = 4,
		.label_line = true,
	};
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct folded_counts counts;
	uint32_t labels;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(folded_read(bytes_of(text), &p, &counts), 0);
	assert_string_equal(counts.labels, "container,comm,pid,cpu");
	assert_int_equal(counts.skipped, 1);
	assert_int_equal(p.stacks.data[p.samples.data[0].stack].len, 2);
	labels = p.samples.data[0].labels;
	assert_int_equal(profile_label(&p, labels, PROFILE_KEY_CONTAINER), 0);
	assert_string_equal(profile_label_text(&p, labels, PROFILE_KEY_COMM), "my app");
	assert_int_equal(profile_label_number(&p, labels, PROFILE_KEY_PID), 12);
	assert_int_equal(profile_label_number(&p, labels, PROFILE_KEY_TID), -1);
	assert_int_equal(profile_label_number(&p, labels, PROFILE_KEY_CPU), -1);
	assert_int_equal(folded_write(&p, &options, &out), 0);
	assert_string_equal(out.data, text);
}

static void every_key_of_by_can_be_a_label(void **state)
{
	(void)state;
	for (uint32_t key = 0; key < PROFILE_KEYS; key++) {
		struct sink_options options = { .by = { key }, .by_len = 1, .label_line = true };
		_cleanup_(profile_done) struct profile p = { 0 };
		_cleanup_(buf_done) struct buf out = BUF_INIT;
		struct folded_counts counts;
		char text[96];

		snprintf(text, sizeof(text), "%s%s 0\n7;f 1\n", FOLDED_LABELS,
			profile_key_name(NULL, key));
		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(folded_read(bytes_of(text), &p, &counts), 0);
		assert_int_equal(folded_write(&p, &options, &out), 0);
		assert_string_equal(out.data, text);
		assert_int_equal(p.stacks.data[0].len, 1);
	}
}

static void a_line_of_labels_that_is_wrong_is_a_comment(void **state)
{
	static const char *const rows[] = { "# stoker labels: colour 0", "# stoker labels: comm 1",
		"# stoker labels: comm,comm,comm,comm,comm,comm,comm,comm,comm,comm 0" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), "%s\na;b 1\n", rows[i]);
		expect(text, "a;b 1\n", (struct folded_counts){ .lines = 1, .skipped = 1 });
	}
	expect("# stoker labels: comm,pid 0\na 1\na;1 1\na;1;f 1\n", "? 1\nf 1\n",
		(struct folded_counts){ .lines = 2, .bad = 1, .bad_at = 2, .skipped = 1 });
}

/* Other readers take it for a stack. */
static void a_stack_may_begin_with_a_hash(void **state)
{
	(void)state;
	expect("# a;b 5\n# hz 99\na;b 1\n", "a;b 1\n",
		(struct folded_counts){ .lines = 1, .skipped = 2, .comments = 1 });
	expect("#f;g 1\n#f\n", "?f;g 1\n", (struct folded_counts){ .lines = 1, .skipped = 1 });
}

static void empty_frames_are_none(void **state)
{
	(void)state;
	expect(";a;;b; 2\n", "a;b 2\n", (struct folded_counts){ .lines = 1 });
}

static void what_is_no_line_is_left_out_and_counted(void **state)
{
	static const char *const rows[] = { "main", "main;work", "12", " 12", "a -1", "a 1e3",
		"a 1 ", "a 0x10", "a 99999999999999999999", "a .5", "a 1.x" };
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), "a 1\n\n%s\n", rows[i]);
		expect(text, "a 1\n",
			(struct folded_counts){ .lines = 1, .bad = 1, .bad_at = 3, .skipped = 1 });
	}
	expect("# made by hand\na 1\n", "a 1\n",
		(struct folded_counts){ .lines = 1, .skipped = 1 });
}

static void a_stack_of_too_many_frames_is_left_out(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(profile_done) struct profile p = { 0 };
	struct folded_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	for (int extra = 0; extra < 2; extra++) {
		for (int i = 0; i < FOLDED_FRAMES_MAX + extra; i++)
			assert_int_equal(buf_printf(&text, "f%d;", i), 0);
		assert_int_equal(buf_puts(&text, " 5\n"), 0);
	}
	assert_int_equal(folded_read(bytes_of(text.data), &p, &counts), 0);
	assert_int_equal(counts.lines, 1);
	assert_int_equal(counts.bad, 1);
	assert_int_equal(profile_total(&p), 5);
}

/* ---- compressed ---------------------------------------------------------------------------- */

static void fill(struct buf *out, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(buf_putc(out, (char)('a' + i * i % 23)), 0);
}

static void what_was_compressed_is_whole_again(void **state)
{
	static const enum compress_kind kinds[] = { COMPRESS_GZIP, COMPRESS_ZSTD };
	static const size_t sizes[] = { 0, 1, 1000, 3000000 };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			_cleanup_(buf_done) struct buf plain = BUF_INIT;
			_cleanup_(buf_done) struct buf packed = BUF_INIT;
			_cleanup_(buf_done) struct buf out = BUF_INIT;
			_cleanup_(buf_done) struct buf again = BUF_INIT;
			struct bytes in;

			fill(&plain, sizes[i]);
			/* twice: one part behind the other */
			assert_int_equal(compress_all(kinds[k], &plain, &packed), 0);
			assert_int_equal(compress_all(kinds[k], &plain, &packed), 0);
			in = (struct bytes){ (const uint8_t *)packed.data, packed.len };
			assert_int_equal(decompress(in, 2 * sizes[i], &out), 0);
			assert_true(sizes[i] == 0 ||
				decompress(in, 2 * sizes[i] - 1, &again) == -EFBIG);
			assert_int_equal(out.len, 2 * sizes[i]);
			assert_true(sizes[i] == 0 || memcmp(out.data, plain.data, sizes[i]) == 0);
			in.len--;
			buf_clear(&out);
			assert_int_equal(decompress(in, 2 * sizes[i], &out), -EBADMSG);
		}
	}
}

static void a_small_file_of_much_text_is_refused(void **state)
{
	static const enum compress_kind kinds[] = { COMPRESS_GZIP, COMPRESS_ZSTD };
	_cleanup_(buf_done) struct buf plain = BUF_INIT;
	char *room;

	(void)state;
	assert_int_equal(buf_reserve(&plain, 50 << 20, &room), 0);
	memset(room, 'a', 50 << 20);
	buf_commit(&plain, 50 << 20);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		_cleanup_(buf_done) struct buf packed = BUF_INIT;
		_cleanup_(buf_done) struct buf out = BUF_INIT;

		assert_int_equal(compress_all(kinds[k], &plain, &packed), 0);
		assert_int_equal(
			decompress((struct bytes){ (const uint8_t *)packed.data, packed.len },
				1 << 20, &out),
			-EFBIG);
		assert_true(out.len < 2 << 20);
	}
}

static void what_is_not_compressed_is_taken_as_it_is(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(decompress(bytes_of("a;b 1\n"), 6, &out), 0);
	assert_string_equal(out.data, "a;b 1\n");
	assert_int_equal(decompress(bytes_of("a;b 1\n"), 5, &out), -EFBIG);
	assert_int_equal(decompress(bytes_of("\x1f\x8b\x08 no gzip"), 100, &out), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_stacks_with_a_count),
		cmocka_unit_test(a_sum_that_cannot_be_written_exactly_is_an_error),
		cmocka_unit_test(suffixes_say_what_kind_a_frame_is),
		cmocka_unit_test(fractions_are_kept),
		cmocka_unit_test(lines_with_two_counts_are_counted),
		cmocka_unit_test(labels_are_labels_again),
		cmocka_unit_test(every_key_of_by_can_be_a_label),
		cmocka_unit_test(a_line_of_labels_that_is_wrong_is_a_comment),
		cmocka_unit_test(a_stack_may_begin_with_a_hash),
		cmocka_unit_test(empty_frames_are_none),
		cmocka_unit_test(what_is_no_line_is_left_out_and_counted),
		cmocka_unit_test(a_stack_of_too_many_frames_is_left_out),
		cmocka_unit_test(what_was_compressed_is_whole_again),
		cmocka_unit_test(a_small_file_of_much_text_is_refused),
		cmocka_unit_test(what_is_not_compressed_is_taken_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
