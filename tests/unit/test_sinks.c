/* SPDX-License-Identifier: Apache-2.0 */
/* test_sinks.c - a sink that cannot write all of its bytes returns the error: each sink of the
 * table, with a buffer that is full and with each of its allocations failing once.
 * LINK: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "make_profile.h"
#include "sink/diff.h"
#include "sink/html.h"
#include "sink/sink.h"

/* ---- allocations ---------------------------------------------------------------------------- */

static uint64_t left = UINT64_MAX; /* allocations until the one that fails */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

static bool fails(void)
{
	return left != UINT64_MAX && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, n, size);
}

/* ---- what is written ------------------------------------------------------------------------ */

static const struct sink_options options = {
	.by = { PROFILE_KEY_COMM, PROFILE_KEY_TID }, .by_len = 2
};

/* Every class of frame, a mapped file, ticks, and names that are escaped. */
static int setup(void **state)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct profile_object object = { 0 };
	struct profile_frame frame = { .address = 0x1234, .line = 7 };
	struct profile_labels labels = { 0 };
	uint32_t frame_id, stack, labels_id;

	assert_non_null(p);
	assert_int_equal(profile_init(p), 0);
	p->kinds[0].period_ns = 10000000;
	p->start_ns = 1600000000000000000;
	p->start_tick_ns = 1000;
	make_sample(p, "a;b \"c\"", "main;work;tight_[i];read_[k]", 40);
	make_sample(p, "node 7", "main;js <anonymous>_[j];a->b", 2);
	make_sample(p, "#hidden", "", 1);
	assert_int_equal(profile_string(p, "/usr/lib/libx (1).so", &object.path), 0);
	assert_int_equal(profile_string(p, "0011aabb", &object.build_id), 0);
	assert_int_equal(profile_object(p, &object, &frame.object), 0);
	assert_int_equal(profile_string(p, "x::y", &frame.name), 0);
	assert_int_equal(profile_string(p, "libx.so", &frame.module), 0);
	assert_int_equal(profile_string(p, "x.c", &frame.file), 0);
	assert_int_equal(profile_frame(p, &frame, &frame_id), 0);
	assert_int_equal(profile_stack(p, &frame_id, 1, &stack), 0);
	make_labels(p, &labels, "x", 7, 9);
	assert_int_equal(profile_labels(p, &labels, &labels_id), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(profile_tick(p, stack, labels_id, 0, 2000 + i), 0);
	profile_sort(p);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	profile_done(*state);
	free(*state);
	return 0;
}

static int take(void *ctx, const struct buf *bytes)
{
	assert_int_equal(buf_err(bytes), 0);
	return buf_append(ctx, bytes);
}

/* One file of a format, from its first byte to its last. */
static int write_file(
	const struct sink *sink, const struct profile *p, size_t max_bytes, struct buf *out)
{
	struct sink_file file;
	int err = sink_file_open(&file, sink, &options);

	file.out.take = take;
	file.out.ctx = out;
	file.out.buf.max_bytes = max_bytes;
	if (err == 0)
		err = sink_file_put(&file, p);
	if (err == 0)
		err = sink_file_end(&file);
	sink_file_done(&file);
	return err;
}

static int write_folded_diff(
	const struct profile *p, const struct sink_options *by, struct buf *out)
{
	return diff_write_folded(p, p, by, DIFF_TOTAL, out);
}

static int write_html_diff(const struct profile *p, const struct sink_options *by, struct buf *out)
{
	const struct profile *const sides[] = { p, p };
	const char *const names[] = { "before", "<after>" };

	return html_write_diff(sides, names, by, DIFF_TOTAL, out);
}

static const struct sink diffs[] = {
	{ "folded diff", "", NULL, 0, write_folded_diff, NULL, 0 },
	{ "html diff", "", NULL, 0, write_html_diff, NULL, 0 },
};

/* The table's, then those above; NULL: that was the last. */
static const struct sink *sink_at(size_t i)
{
	size_t len = 0;

	while (sink_list()[len].name)
		len++;
	return i < len ? &sink_list()[i] : i - len < ARRAY_SIZE(diffs) ? &diffs[i - len] : NULL;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void each_sink_fails_when_its_buffer_is_full(void **state)
{
	for (size_t i = 0; sink_at(i); i++) {
		const struct sink *sink = sink_at(i);
		_cleanup_(buf_done) struct buf whole = BUF_INIT;
		size_t rows[] = { 1, 0, 0, 0 };

		assert_int_equal(write_file(sink, *state, 0, &whole), 0);
		assert_true(whole.len > 3);
		rows[1] = whole.len / 3;
		rows[2] = whole.len / 2;
		rows[3] = whole.len - 1;
		for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
			_cleanup_(buf_done) struct buf part = BUF_INIT;
			int err = write_file(sink, *state, rows[n], &part);

			/* A format that streams has two buffers' worth: of put and of end. */
			if (err != -EFBIG && !(err == 0 && sink->stream && part.len == whole.len))
				fail_msg("%s with %zu of %zu bytes: %d", sink->name, rows[n],
					whole.len, err);
		}
	}
}

static void each_sink_fails_when_one_allocation_does(void **state)
{
	for (size_t i = 0; sink_at(i); i++) {
		const struct sink *sink = sink_at(i);
		_cleanup_(buf_done) struct buf whole = BUF_INIT;
		bool failed = true;

		assert_int_equal(write_file(sink, *state, 0, &whole), 0);
		for (uint64_t n = 0; failed; n++) {
			_cleanup_(buf_done) struct buf part = BUF_INIT;
			int err;

			left = n;
			err = write_file(sink, *state, 0, &part);
			failed = left == UINT64_MAX;
			left = UINT64_MAX;
			if (err != -ENOMEM &&
				(err != 0 || part.len != whole.len ||
					memcmp(part.data, whole.data, part.len) != 0))
				fail_msg("%s without allocation %llu: %d, and %zu of %zu bytes",
					sink->name, (unsigned long long)n, err, part.len,
					whole.len);
		}
	}
}

static void a_format_that_needs_times_is_refused_for_counts(void **state)
{
	static const struct {
		const char *format;
		int err;
	} rows[] = {
		{ "folded", 0 },
		{ "perf", -EINVAL },
		{ "perfview", -EINVAL },
		{ "pprof", 0 },
		{ "speedscope", 0 },
		{ "firefox", -EINVAL },
		{ "stoker", 0 },
		{ "html", 0 },
		{ "svg", 0 },
		{ "intervals", 0 },
	};
	size_t formats = 0;

	(void)state;
	for (const struct sink *s = sink_list(); s->name; s++)
		formats++;
	assert_int_equal(formats, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct sink *sink = sink_find(rows[i].format);
		struct why why = { "" };

		if (sink_check_times(sink, "a.folded", false, &why) != rows[i].err ||
			sink_check_times(sink, "a.folded", true, &why) != 0)
			fail_msg("%s: %s", rows[i].format, why.text);
		if (rows[i].err < 0)
			assert_non_null(strstr(why.text, "folded pprof speedscope html svg"));
	}
}

static int write_and_forget(const struct profile *p, const struct sink_options *by, struct buf *out)
{
	(void)p;
	(void)by;
	buf_puts(out, "half");
	buf_fail(out, -EIO);
	return 0;
}

static void nothing_of_a_failed_buffer_is_handed_on(void **state)
{
	const struct sink sink = { "forgets", "", NULL, 0, write_and_forget, NULL, 0 };
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	assert_int_equal(write_file(&sink, *state, 0, &out), -EIO);
	assert_int_equal(out.len, 0);
}

static void a_failed_buffer_takes_no_more(void **state)
{
	_cleanup_(buf_done) struct buf limited = { .max_bytes = 4 };
	_cleanup_(buf_done) struct buf other = BUF_INIT;
	char *room;

	(void)state;
	assert_string_equal(buf_text(&limited), "");
	assert_int_equal(buf_puts(&limited, "1234"), 0);
	assert_int_equal(buf_putc(&limited, '5'), -EFBIG);
	assert_int_equal(buf_puts(&limited, ""), -EFBIG);
	assert_int_equal(buf_printf(&limited, "%d", 5), -EFBIG);
	assert_int_equal(buf_reserve(&limited, 0, &room), -EFBIG);
	assert_int_equal(buf_fail(&limited, -EIO), -EFBIG);
	assert_string_equal(buf_text(&limited), "1234");
	assert_int_equal(buf_append(&other, &limited), -EFBIG);
	assert_int_equal(other.len, 0);
	buf_clear(&limited);
	assert_int_equal(buf_err(&limited), 0);
	assert_int_equal(buf_fail(&limited, 0), 0);
	assert_int_equal(buf_fail(&limited, -EIO), -EIO);
	buf_clear(&limited);
	assert_int_equal(buf_puts(&limited, "12345"), -EFBIG);
	assert_int_equal(limited.len, 0);
}

static void a_buffer_writes_the_leb128_that_a_cursor_reads(void **state)
{
	const uint64_t rows[] = { 0, 1, 0x7f, 0x80, 0x3fff, 0x4000, INT64_MAX, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf bytes = BUF_INIT;
		struct cursor c;
		uint64_t value;

		buf_put_uleb(&bytes, rows[i]);
		assert_int_equal(buf_err(&bytes), 0);
		c = cursor_init(bytes.data, bytes.len);
		value = cursor_uleb(&c);
		if (value != rows[i] || c.bad || cursor_left(&c) > 0)
			fail_msg("%#llx", (unsigned long long)rows[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_that_needs_times_is_refused_for_counts),
		cmocka_unit_test(a_failed_buffer_takes_no_more),
		cmocka_unit_test(a_buffer_writes_the_leb128_that_a_cursor_reads),
		cmocka_unit_test_setup_teardown(
			each_sink_fails_when_its_buffer_is_full, setup, teardown),
		cmocka_unit_test_setup_teardown(
			each_sink_fails_when_one_allocation_does, setup, teardown),
		cmocka_unit_test_setup_teardown(
			nothing_of_a_failed_buffer_is_handed_on, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
