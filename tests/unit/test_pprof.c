/* SPDX-License-Identifier: Apache-2.0 */
/* test_pprof.c - profile.proto read back, field by field. */
#include "unit.h"

#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "make_parts.h"
#include "sink/sink.h"

#define FIELDS_MAX 16
#define TIMES_MAX 64

/* A message's fields: of one number each the last value, of bytes where the n-th is. */
struct message {
	uint64_t numbers[FIELDS_MAX];
	struct bytes bytes[FIELDS_MAX][TIMES_MAX];
	size_t counts[FIELDS_MAX];
};

static struct message parse(struct bytes from)
{
	struct cursor c = cursor_init(from.data, from.len);
	struct message m = { 0 };

	while (cursor_left(&c) > 0) {
		uint64_t key = cursor_uleb(&c), field = key >> 3;

		assert_true(field > 0 && field < FIELDS_MAX);
		if ((key & 7) == 0) {
			m.numbers[field] = cursor_uleb(&c);
			continue;
		}
		assert_int_equal(key & 7, 2);
		assert_true(m.counts[field] < TIMES_MAX);
		m.bytes[field][m.counts[field]++] = cursor_bytes(&c, cursor_uleb(&c));
	}
	assert_false(c.bad);
	return m;
}

static void expect_text(const struct message *m, uint64_t at, const char *text)
{
	assert_true(at < m->counts[6]);
	assert_int_equal(m->bytes[6][at].len, strlen(text));
	assert_memory_equal(m->bytes[6][at].data, text, strlen(text));
}

static struct message write_out(struct profile *p, struct buf *out)
{
	struct sink_options options = { 0 };

	assert_int_equal(pprof_write(p, &options, out), 0);
	return parse((struct bytes){ (const uint8_t *)out->data, out->len });
}

static void places_functions_labels_and_values_are_there(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct message m, sample, location, line, function, mapping, label;
	uint32_t frames[3], main_frame, twice[1];

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	p.kinds[0].period_ns = 1000;
	frames[0] = part_frame(&p, "tiny", "app", PROFILE_INLINED, 0x1234);
	frames[1] = part_frame(&p, "big", "app", PROFILE_NATIVE, 0x1234);
	main_frame = frames[2] = part_frame(&p, "ma\xffin", "app", PROFILE_NATIVE, 0x2000);
	twice[0] = main_frame;
	assert_int_equal(
		profile_add(&p, part_stack(&p, frames, 3), part_labels(&p, "web", "x", 7, -1), 3),
		0);
	assert_int_equal(
		profile_add(&p, part_stack(&p, twice, 1), part_labels(&p, "", "x", -1, 9), 1), 0);
	m = write_out(&p, &out);
	assert_int_equal(m.counts[1], 2);
	assert_int_equal(m.counts[2], 2);
	assert_int_equal(m.counts[3], 1);
	assert_int_equal(m.counts[4], 2);
	assert_int_equal(m.counts[5], 3);
	assert_int_equal(m.numbers[12], 1000);
	expect_text(&m, 0, "");

	sample = parse(m.bytes[2][0]);
	assert_memory_equal(sample.bytes[1][0].data, "\x01\x02", 2);
	assert_memory_equal(sample.bytes[2][0].data, "\x03\xb8\x17", 3); /* 3, 3000 */
	assert_int_equal(sample.counts[3], 4);
	label = parse(sample.bytes[3][0]);
	expect_text(&m, label.numbers[1], "container");
	expect_text(&m, label.numbers[2], "web");
	label = parse(sample.bytes[3][2]);
	expect_text(&m, label.numbers[1], "pid");
	assert_int_equal(label.numbers[3], 7);
	sample = parse(m.bytes[2][1]);
	assert_memory_equal(sample.bytes[1][0].data, "\x02", 1);

	location = parse(m.bytes[4][0]);
	assert_int_equal(location.numbers[1], 1);
	assert_int_equal(location.numbers[3], 0x1234);
	assert_int_equal(location.counts[4], 2);
	line = parse(location.bytes[4][0]);
	function = parse(m.bytes[5][line.numbers[1] - 1]);
	expect_text(&m, function.numbers[2], "tiny");
	line = parse(location.bytes[4][1]);
	function = parse(m.bytes[5][line.numbers[1] - 1]);
	expect_text(&m, function.numbers[2], "big");
	function = parse(m.bytes[5][2]);
	expect_text(&m, function.numbers[2], "ma?in");
	mapping = parse(m.bytes[3][0]);
	assert_int_equal(mapping.numbers[3], 0x3000);
	assert_int_equal(mapping.numbers[7], 1);
	expect_text(&m, mapping.numbers[5], "app");
}

static void an_empty_profile_has_types_and_no_sample(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct message m;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	p.kinds[0].period_ns = 1000;
	m = write_out(&p, &out);
	assert_int_equal(m.counts[1], 2);
	assert_int_equal(m.counts[2], 0);
}

/* The stack's label of the n-th sample; NULL: none. */
static void expect_stack(const struct message *m, uint32_t n, const char *state)
{
	struct message sample = parse(m->bytes[2][n]), label;

	if (!state) {
		assert_int_equal(sample.counts[3], 0);
		return;
	}
	assert_int_equal(sample.counts[3], 1);
	label = parse(sample.bytes[3][0]);
	expect_text(m, label.numbers[1], "stack");
	expect_text(m, label.numbers[2], state);
}

static void a_label_says_if_a_stack_is_complete(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct message m;
	uint32_t frames[3], guessed[4], labels;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	labels = part_labels(&p, "", "", -1, -1);
	frames[0] = part_frame(&p, "read", "[kernel]", PROFILE_KERNEL, 0xffffffff81000000);
	frames[1] = part_frame(&p, "f", "app", PROFILE_NATIVE, 0x1000);
	frames[2] = part_frame(&p, "[truncated]", "", PROFILE_MARK, 0);
	assert_int_equal(profile_add(&p, part_stack(&p, frames, 1), labels, 1), 0);
	assert_int_equal(profile_add(&p, part_stack(&p, frames, 2), labels, 1), 0);
	assert_int_equal(profile_add(&p, part_stack(&p, frames, 3), labels, 1), 0);
	guessed[0] = frames[1];
	guessed[1] = part_frame(&p, "[guessed]", "", PROFILE_MARK, 0);
	guessed[2] = frames[1];
	guessed[3] = frames[2];
	frames[1] = part_frame(&p, "f", "app", PROFILE_NATIVE, 0);
	assert_int_equal(profile_add(&p, part_stack(&p, frames, 3), labels, 1), 0);
	assert_int_equal(profile_add(&p, part_stack(&p, guessed, 3), labels, 1), 0);
	assert_int_equal(profile_add(&p, part_stack(&p, guessed, 4), labels, 1), 0);
	m = write_out(&p, &out);
	expect_stack(&m, 0, NULL);
	expect_stack(&m, 1, "complete");
	expect_stack(&m, 2, "truncated");
	expect_stack(&m, 3, NULL);
	expect_stack(&m, 4, "guessed");
	expect_stack(&m, 5, "truncated");
}

/* As of folded text: any number of nanoseconds would be made up, that of a large count negative. */
static void without_a_period_there_are_counts_and_no_times(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct message m, sample;
	uint32_t frame;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	frame = part_frame(&p, "f", "", PROFILE_NATIVE, 0);
	assert_int_equal(profile_add(&p, part_stack(&p, &frame, 1),
				 part_labels(&p, "", "", -1, -1), 1ULL << 40),
		0);
	m = write_out(&p, &out);
	assert_int_equal(m.counts[1], 1);
	assert_int_equal(m.counts[11], 0);
	assert_int_equal(m.numbers[12], 0);
	sample = parse(m.bytes[2][0]);
	assert_int_equal(sample.bytes[2][0].len, 6);
	assert_memory_equal(sample.bytes[2][0].data, "\x80\x80\x80\x80\x80\x20", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_functions_labels_and_values_are_there),
		cmocka_unit_test(without_a_period_there_are_counts_and_no_times),
		cmocka_unit_test(a_label_says_if_a_stack_is_complete),
		cmocka_unit_test(an_empty_profile_has_types_and_no_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
