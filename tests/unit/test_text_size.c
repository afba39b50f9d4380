/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_size.c - how long a profile becomes as text: what counts once, and what each time. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "make_profile.h"
#include "profile/text_size.h"
#include "sink/sink.h"

static uint64_t lines_of(const struct profile *p, uint64_t max)
{
	uint64_t bytes;

	assert_int_equal(text_size_lines(p, max, &bytes), 0);
	return bytes;
}

static uint64_t ticks_of(const struct profile *p, uint64_t max)
{
	uint64_t bytes;

	assert_int_equal(text_size_ticks(p, max, &bytes), 0);
	return bytes;
}

static void a_profile_is_as_long_as_its_folded_text(void **state)
{
	const struct sink_options options = { .by = { PROFILE_KEY_COMM }, .by_len = 1 };
	_cleanup_(profile_done) struct profile p = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char stack[128];

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(stack, sizeof(stack), "main;some_function_of_a_program_%d;read_[k]", i);
		make_sample(&p, "web", stack, 1);
	}
	assert_int_equal(folded_write(&p, &options, &text), 0);
	assert_true(lines_of(&p, UINT64_MAX) >= text.len);
	assert_true(lines_of(&p, UINT64_MAX) < 2 * text.len);
}

/* Of other addresses, as a function has many. */
static void stacks_that_read_the_same_count_once(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct profile_frame frame = { 0 };
	struct profile_labels none = { 0 };
	uint32_t id, labels, stack;
	uint64_t one = 0;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_string(&p, "some_function", &frame.name), 0);
	assert_int_equal(profile_labels(&p, &none, &labels), 0);
	for (uint64_t i = 0; i < 100; i++) {
		frame.address = i;
		assert_int_equal(profile_frame(&p, &frame, &id), 0);
		assert_int_equal(profile_stack(&p, &id, 1, &stack), 0);
		assert_int_equal(profile_tick(&p, stack, labels, 0, i), 0);
		one = i == 0 ? lines_of(&p, UINT64_MAX) : one;
	}
	assert_int_equal(p.samples.len, 100);
	assert_int_equal(lines_of(&p, UINT64_MAX), one);
	/* But each tick has its own. */
	assert_true(ticks_of(&p, UINT64_MAX) > 100 * strlen("some_function"));
}

static void no_more_is_counted_than_is_asked(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	char stack[64];

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(stack, sizeof(stack), "f_%d", i);
		make_sample(&p, "web", stack, 1);
	}
	assert_true(lines_of(&p, 5000) > 5000);
	assert_true(lines_of(&p, 5000) < 5100);
	assert_int_equal(ticks_of(&p, 5000), 0);
}

static void a_profile_without_samples_has_no_text(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(lines_of(&p, 100) + ticks_of(&p, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_as_long_as_its_folded_text),
		cmocka_unit_test(stacks_that_read_the_same_count_once),
		cmocka_unit_test(no_more_is_counted_than_is_asked),
		cmocka_unit_test(a_profile_without_samples_has_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
