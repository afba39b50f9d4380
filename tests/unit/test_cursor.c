/* SPDX-License-Identifier: Apache-2.0 */
/* Reading bytes from outside: values, bounds, and that an error stays. */
#include "unit.h"

#include <string.h>

#include "base/cursor.h"
#include "base/own.h"

static void integers_are_little_endian_and_swap_on_demand(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct cursor c = cursor_init(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u64(&c), 0x0807060504030201);
	c = cursor_init(bytes, sizeof(bytes));
	c.swap = true;
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16(&c), 0x0203);
	assert_int_equal(cursor_u32(&c), 0x04050607);
	assert_int_equal(cursor_left(&c), 1);
}

static void a_read_beyond_the_end_is_zero_and_stays_bad(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0xff, 0xff };
	struct cursor c = cursor_init(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u32(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(cursor_bytes(&c, 0).len, 0);
	cursor_seek(&c, 0);
	assert_true(c.bad);
}

static void leb128_values(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint64_t u;
		int64_t s;
		bool bad_u, bad_s;
	} rows[] = {
		{ "\x02", 1, 2, 2, false, false },
		{ "\x7f", 1, 127, -1, false, false },
		{ "\x80\x01", 2, 128, 128, false, false },
		{ "\x80\x7f", 2, 16256, -128, false, false },
		{ "\x80\x80\x00", 3, 0, 0, false, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, -1, false, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, INT64_MAX, true, false },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 0, 0, true, true },
		{ "\x80", 1, 0, 0, true, true },
		{ "", 0, 0, 0, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cursor u = cursor_init(rows[i].bytes, rows[i].len), s = u;

		print_message("row %zu\n", i);
		assert_int_equal(cursor_uleb(&u), rows[i].u);
		assert_int_equal(u.bad, rows[i].bad_u);
		assert_int_equal(cursor_sleb(&s), rows[i].s);
		assert_int_equal(s.bad, rows[i].bad_s);
	}
}

static void a_string_without_its_end_is_bad(void **state)
{
	struct cursor c = cursor_init("ab\0cd", 5);

	(void)state;
	assert_string_equal(cursor_str(&c), "ab");
	assert_int_equal(cursor_offset(&c), 3);
	assert_string_equal(cursor_str(&c), "");
	assert_true(c.bad);
}

static void a_part_cannot_read_its_neighbour(void **state)
{
	struct cursor c = cursor_init("abcd", 4);
	struct cursor sub = cursor_sub(&c, 2);

	(void)state;
	assert_int_equal(cursor_u16(&sub), 'a' | 'b' << 8);
	assert_int_equal(cursor_u8(&sub), 0);
	assert_true(sub.bad);
	assert_false(c.bad);
	assert_int_equal(cursor_u8(&c), 'c');
	sub = cursor_sub(&c, 2);
	assert_true(sub.bad);
	assert_true(c.bad);
}

static void a_seek_to_the_end_is_good_and_past_it_bad(void **state)
{
	struct cursor c = cursor_init("abcd", 4);

	(void)state;
	cursor_seek(&c, 4);
	assert_false(c.bad);
	cursor_seek(&c, 1);
	assert_int_equal(cursor_u8(&c), 'b');
	cursor_seek(&c, SIZE_MAX);
	assert_true(c.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_little_endian_and_swap_on_demand),
		cmocka_unit_test(a_read_beyond_the_end_is_zero_and_stays_bad),
		cmocka_unit_test(leb128_values),
		cmocka_unit_test(a_string_without_its_end_is_bad),
		cmocka_unit_test(a_part_cannot_read_its_neighbour),
		cmocka_unit_test(a_seek_to_the_end_is_good_and_past_it_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
