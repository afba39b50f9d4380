/* SPDX-License-Identifier: Apache-2.0 */
/* test_buf.c - formatted text of any length: data and len agree, also after a put that failed. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

#define LEN_MAX 300

static void a_text_of_any_length_is_put_whole(void **state)
{
	(void)state;
	for (int before = 0; before < LEN_MAX; before++) {
		for (int size = 0; size < LEN_MAX; size += 7) {
			_cleanup_(buf_done) struct buf b = BUF_INIT;

			buf_printf(&b, "%*s", before, "");
			assert_int_equal(buf_printf(&b, "%0*d", size, 0), 0);
			assert_int_equal(b.len, before + (size > 0 ? size : 1));
			assert_int_equal(strlen(b.data), b.len);
			assert_int_equal(strspn(b.data + before, "0"), b.len - (size_t)before);
		}
	}
}

static void what_the_limit_refuses_leaves_the_text_as_it_was(void **state)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	(void)state;
	b.max_bytes = 5;
	assert_int_equal(buf_printf(&b, "%d", 123), 0);
	assert_int_equal(buf_printf(&b, "%d", 456), -EFBIG);
	assert_string_equal(b.data, "123");
	assert_int_equal(buf_printf(&b, "%d", 4), -EFBIG);
	assert_int_equal(b.len, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_of_any_length_is_put_whole),
		cmocka_unit_test(what_the_limit_refuses_leaves_the_text_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
