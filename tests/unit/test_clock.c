/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - how long a loop waits. */
#include "unit.h"

#include <stdint.h>

#include "base/clock.h"

static void a_wait_ends_at_its_time_and_not_before(void **state)
{
	static const struct {
		uint64_t now_ns, until_ns;
		int ms;
	} rows[] = {
		{ 5, 5, 0 },
		{ 6, 5, 0 },
		{ 5, 6, 1 },
		{ 0, NSEC_PER_MSEC, 1 },
		{ 0, NSEC_PER_MSEC + 1, 2 },
		{ 0, 60 * NSEC_PER_SEC, 60000 },
		{ 0, CLOCK_NEVER_NS - 1, INT32_MAX },
		{ 0, CLOCK_NEVER_NS, -1 },
		{ CLOCK_NEVER_NS - 1, CLOCK_NEVER_NS, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int ms = clock_wait_ms(rows[i].now_ns, rows[i].until_ns);

		if (ms != rows[i].ms)
			print_message("row %zu: %d ms, not %d\n", i, ms, rows[i].ms);
		assert_int_equal(ms, rows[i].ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_ends_at_its_time_and_not_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
