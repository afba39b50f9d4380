/* SPDX-License-Identifier: Apache-2.0 */
/* test_stoker_file.c - a whole profile through its file and back, and files that are damaged. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "make_whole.h"
#include "profile/stoker_format.h"
#include "profile/stoker_reader.h"
#include "sink/sink.h"
#include "whole_text.h"

static const struct sink_options none = { 0 };

static struct bytes bytes_of(const struct buf *buf)
{
	return (struct bytes){ (const uint8_t *)buf->data, buf->len };
}

static void write_file(const struct profile *p, struct buf *out)
{
	assert_int_equal(stoker_write(p, &none, out), 0);
	assert_true(stoker_looks_like(bytes_of(out)));
}

static int read_file(struct bytes file, struct profile *p, struct stoker_found *found)
{
	assert_int_equal(profile_init(p), 0);
	return stoker_read(file, p, found);
}

static void all_of_a_profile_comes_back(void **state)
{
	/* The last one has several pieces. */
	static const uint32_t rows[] = { 2, 3, 500, 60000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 }, again = { 0 };
		_cleanup_(buf_done) struct buf file = BUF_INIT, text = BUF_INIT, back = BUF_INIT;
		_cleanup_(buf_done) struct buf second = BUF_INIT;
		struct stoker_found found;

		make_whole(&p, rows[i]);
		write_file(&p, &file);
		assert_int_equal(read_file(bytes_of(&file), &again, &found), 0);
		assert_null(found.what);
		put_whole(&p, &text);
		put_whole(&again, &back);
		assert_string_equal(text.data, back.data);
		write_file(&again, &second);
		assert_int_equal(file.len, second.len);
		assert_memory_equal(file.data, second.data, file.len);
	}
}

static void other_zstd_readers_pass_over_it(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	char room[16];

	(void)state;
	make_whole(&p, 3);
	write_file(&p, &file);
	assert_int_equal(ZSTD_decompress(room, sizeof(room), file.data, file.len), 0);
}

static void a_profile_without_samples_comes_back(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, again = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	struct stoker_found found;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	write_file(&p, &file);
	assert_int_equal(read_file(bytes_of(&file), &again, &found), 0);
	assert_int_equal(again.samples.len, 0);
	assert_int_equal(again.kinds_len, 1);
}

/* Samples that came out are samples that were put in, from the first one on. */
static void expect_part(const struct profile *whole, const struct profile *part)
{
	assert_true(part->samples.len <= whole->samples.len);
	for (size_t i = 0; i < part->samples.len; i++) {
		_cleanup_(buf_done) struct buf a = BUF_INIT, b = BUF_INIT;

		put_whole_sample(whole, &whole->samples.data[i], &a);
		put_whole_sample(part, &part->samples.data[i], &b);
		assert_string_equal(a.data, b.data);
	}
}

static void a_cut_file_is_an_error_wherever_it_is_cut(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	make_whole(&p, 3);
	write_file(&p, &file);
	for (size_t len = 0; len < file.len; len++) {
		_cleanup_(profile_done) struct profile part = { 0 };
		_cleanup_(freep) char *copy = malloc(len + 1);
		struct stoker_found found;
		int err;

		memcpy(copy, file.data, len);
		err = read_file((struct bytes){ (const uint8_t *)copy, len }, &part, &found);
		if (err != -EBADMSG && err != -ENOEXEC)
			fail_msg("cut to %zu of %zu bytes: %d", len, file.len, err);
		if (err == -EBADMSG && (!found.what || found.at > len))
			fail_msg("cut to %zu bytes: said of byte %" PRIu64, len, found.at);
		expect_part(&p, &part);
	}
}

static void a_changed_byte_is_seen_wherever_it_is(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	make_whole(&p, 3);
	write_file(&p, &file);
	for (size_t i = 0; i < file.len; i++) {
		_cleanup_(profile_done) struct profile part = { 0 };
		struct stoker_found found;

		file.data[i] ^= 0x15;
		if (read_file(bytes_of(&file), &part, &found) == 0)
			fail_msg("byte %zu of %zu changed and taken", i, file.len);
		file.data[i] ^= 0x15;
		expect_part(&p, &part);
	}
}

static void what_comes_before_the_damage_is_kept(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, part = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	struct stoker_found found;

	(void)state;
	make_whole(&p, 60000);
	write_file(&p, &file);
	file.data[file.len * 3 / 4] ^= 1;
	assert_int_equal(read_file(bytes_of(&file), &part, &found), -EBADMSG);
	assert_true(found.at > 0 && found.at <= file.len * 3 / 4);
	assert_true(part.samples.len > 1000);
	expect_part(&p, &part);
}

static void a_file_of_another_version_is_refused(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, part = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	struct stoker_found found;

	(void)state;
	make_whole(&p, 3);
	write_file(&p, &file);
	file.data[8 + strlen(STOKER_NAME)] = STOKER_FORMAT + 1;
	assert_int_equal(read_file(bytes_of(&file), &part, &found), -ENOTSUP);
}

/* ---- pieces that no writer of ours makes ----------------------------------------------------- */

static void put_frame(struct buf *out, const void *data, size_t len)
{
	const uint32_t head[2] = { STOKER_MAGIC, (uint32_t)len };

	buf_put(out, head, sizeof(head));
	buf_put(out, data, len);
}

/* A file of one piece with these lists; `says` is its size, unpacked. */
static void put_piece(struct buf *out, const char *lists, size_t len, uint64_t says)
{
	_cleanup_(buf_done) struct buf piece = BUF_INIT;
	char packed[4096];
	size_t size = ZSTD_compress(packed, sizeof(packed), lists, len, 1);

	assert_false(ZSTD_isError(size));
	put_frame(out, STOKER_NAME "\0", strlen(STOKER_NAME) + 1);
	buf_put_uleb(&piece, says);
	buf_put(&piece, packed, size);
	put_frame(out, piece.data, piece.len);
}

/* Lists: strings, objects, frames, stacks, keys, labels, kinds, samples, ticks, events, about,
 * end. */
static void pieces_that_break_the_rules_are_refused(void **state)
{
#define ROW(text, err)                      \
	{                                   \
		text, sizeof(text) - 1, err \
	}
	static const struct {
		const char *lists;
		size_t len;
		int err;
	} rows[] = {
		ROW("", -EBADMSG),
		ROW("\0\0\0\0\0\0\0\0\0\0\0", -EBADMSG),
		/* an end that tells of a sample */
		ROW("\0\0\0\0\0\0\0\0\0\0\0\1\1\0\0", -EBADMSG),
		/* bytes after it */
		ROW("\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0x", -EBADMSG),
		/* a string that is longer than the piece */
		ROW("\1\x7f" "abc", -EBADMSG),
		/* more items than there may be */
		ROW("\xff\xff\xff\xff\x0f", -EFBIG),
		/* an object of string 1, which is not there */
		ROW("\0\1\1\0", -EBADMSG),
		/* a frame of class 99; of object 1 */
		ROW("\0\0\1\0\x63\0\0\0\0\0", -EBADMSG),
		ROW("\0\0\1\0\0\1\0\0\0\0", -EBADMSG),
		/* a stack with a frame of the one before; with 4097 frames; of frame 0 */
		ROW("\0\0\0\1\1\0", -EBADMSG),
		ROW("\0\0\0\1\0\x81\x20", -EFBIG),
		ROW("\0\0\0\1\0\1\0", -EBADMSG),
		/* a set of 100 labels; of key 9, which is free and not there */
		ROW("\0\0\0\0\0\1\x64", -EBADMSG),
		ROW("\0\0\0\0\0\1\1\x09\0", -EBADMSG),
		/* kinds: scale 3; scale 0; cpu twice */
		ROW("\0\0\0\0\0\0\1\0\0\3\0", -EBADMSG),
		ROW("\0\0\0\0\0\0\1\0\0\0\0", -EBADMSG),
		ROW("\0\0\0\0\0\0\2\0\0\1\0\0\0\1\0", -EBADMSG),
		/* a sample of stack 0 */
		ROW("\0\0\0\0\0\0\1\0\0\1\0\1\0\0\0\1", -EBADMSG),
		/* values whose sum is too large: an empty stack, no labels, twice 2^63 - 1 */
		ROW("\0\0\0\1\0\0\0\1\0\1\0\0\1\0\2"
		    "\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
		    "\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
			-EFBIG),
		/* two beginnings */
		ROW("\0\0\0\0\0\0\0\0\0\0\2", -EBADMSG),
	};
#undef ROW

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		_cleanup_(buf_done) struct buf file = BUF_INIT;
		struct stoker_found found;
		int err;

		put_piece(&file, rows[i].lists, rows[i].len, rows[i].len);
		err = read_file(bytes_of(&file), &p, &found);
		if (err != rows[i].err || !found.what || found.at != 8 + strlen(STOKER_NAME) + 1)
			fail_msg("row %zu: %d at %" PRIu64 ": %s", i, err, found.at,
				found.what ? found.what : "");
	}
}

static void a_piece_is_no_larger_than_it_says_and_may_be(void **state)
{
	static const char lists[] = "\0\0\0\0\0\0\0\0\0\0\0\1\0\0";
	static const struct {
		uint64_t says;
		int err;
	} rows[] = { { sizeof(lists), 0 }, { sizeof(lists) - 1, -EBADMSG },
		{ sizeof(lists) + 1, -EBADMSG }, { STOKER_PIECE_MAX + 1, -EFBIG },
		{ UINT64_MAX, -EFBIG } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p = { 0 };
		_cleanup_(buf_done) struct buf file = BUF_INIT;
		struct stoker_found found;

		put_piece(&file, lists, sizeof(lists), rows[i].says);
		assert_int_equal(read_file(bytes_of(&file), &p, &found), rows[i].err);
	}
}

static void a_file_that_does_not_fit_is_an_error(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	(void)state;
	make_whole(&p, 3);
	write_file(&p, &file);
	for (size_t max = 1; max < file.len; max += 7) {
		_cleanup_(buf_done) struct buf part = { .max_bytes = max };

		assert_int_equal(stoker_write(&p, &none, &part), -EFBIG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_profile_comes_back),
		cmocka_unit_test(other_zstd_readers_pass_over_it),
		cmocka_unit_test(a_profile_without_samples_comes_back),
		cmocka_unit_test(a_cut_file_is_an_error_wherever_it_is_cut),
		cmocka_unit_test(a_changed_byte_is_seen_wherever_it_is),
		cmocka_unit_test(what_comes_before_the_damage_is_kept),
		cmocka_unit_test(a_file_of_another_version_is_refused),
		cmocka_unit_test(pieces_that_break_the_rules_are_refused),
		cmocka_unit_test(a_piece_is_no_larger_than_it_says_and_may_be),
		cmocka_unit_test(a_file_that_does_not_fit_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
