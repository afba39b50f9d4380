/* SPDX-License-Identifier: Apache-2.0 */
/* test_load.c - what kernels of several ages write of CPU time, pressure and waiting. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "proc/load.h"

#define WRONG UINT64_MAX /* -EBADMSG is expected */

static void check(const char *text, int err, uint64_t got, uint64_t want)
{
	if (want == WRONG ? err != -EBADMSG : err != 0 || got != want)
		fail_msg("\"%s\": %d, %llu", text, err, (unsigned long long)got);
}

static void a_key_is_found_at_the_beginning_of_a_line(void **state)
{
	static const struct {
		const char *text, *key;
		uint64_t want;
	} rows[] = {
		{ "usage_usec 56294798036\nuser_usec 1\n", "usage_usec", 56294798036 },
		{ "nr_periods 2\nnr_throttled 1\nthrottled_time 99", "throttled_time", 99 },
		{ "nice_usec 4\nusage_usec 5\n", "usage_usec", 5 },
		{ "user_usec 1\n", "usage_usec", WRONG },
		{ "usage_usec\n7\n", "usage_usec", WRONG },
		{ "usage_usec -7\n", "usage_usec", WRONG },
		{ "usage_usec 18446744073709551614\n", "usage_usec", UINT64_MAX - 1 },
		{ "usage_usec 18446744073709551616\n", "usage_usec", WRONG },
		{ "throttled_usec_more 3\n", "throttled_usec", WRONG },
		{ "", "usage_usec", WRONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 0;
		int err = load_parse_key(rows[i].text, strlen(rows[i].text), rows[i].key, &got);

		check(rows[i].text, err, got, rows[i].want);
	}
}

static void numbers_are_counted_from_the_first(void **state)
{
	static const struct {
		const char *text;
		unsigned int n;
		uint64_t want;
	} rows[] = { { "56502227827395\n", 0, 56502227827395 }, { "12 345 6\n", 1, 345 },
		{ "12 345 6\n", 2, 6 }, { "12 345 6\n", 3, WRONG }, { "12\n345\n", 1, WRONG },
		{ "x\n", 0, WRONG }, { "", 0, WRONG }, { "  5", 0, 5 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 0;
		int err = load_parse_number(rows[i].text, strlen(rows[i].text), rows[i].n, &got);

		check(rows[i].text, err, got, rows[i].want);
	}
}

static void pressure_is_that_of_some(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{ "some avg10=98.27 avg60=92.96 avg300=84.16 total=18670780302\n"
		  "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			18670780302 },
		{ "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", 7 },
		{ "full avg10=0.00 total=3\nsome avg10=0.00 total=9", 9 },
		{ "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", WRONG },
		{ "some avg10=0.00 avg60=0.00\ntotal=5\n", WRONG },
		{ "some total=\n", WRONG },
		{ "some total=1.5\n", WRONG },
		{ "", WRONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 0;
		int err = load_parse_pressure(rows[i].text, strlen(rows[i].text), &got);

		check(rows[i].text, err, got, rows[i].want);
	}
}

static void busy_is_neither_idle_nor_waiting_nor_stolen_nor_counted_twice(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{ "cpu  1 20 300 99999 88888 4000 50000 77777 1 20\ncpu0 1 1 1 1 1 1 1\n", 54321 },
		{ "cpu 1 2 3 4 5 6 7\n", 19 },
		{ "cpu 1 2 3 4 5 6\n", WRONG },
		{ "cpu0 1 2 3 4 5 6 7\n", WRONG },
		{ "cpu 18446744073709551615 2 3 4 5 6 7\n", WRONG },
		{ "", WRONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 0;
		int err = load_parse_busy(rows[i].text, strlen(rows[i].text), &got);

		check(rows[i].text, err, got, rows[i].want);
	}
}

static void waiting_is_added_up_over_the_cpus(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = {
		{ "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 111 222 333\ndomain0 3 0 0 0 0 0 0 9\n"
		  "cpu1 0 0 0 0 0 0 1 1000 5\n",
			1222 },
		{ "version 15\ncpu0 0 0 0 0 0 0 111\n", WRONG },
		{ "version 15\n", WRONG },
		{ "", WRONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = 0;
		int err = load_parse_waited(rows[i].text, strlen(rows[i].text), &got);

		check(rows[i].text, err, got, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_found_at_the_beginning_of_a_line),
		cmocka_unit_test(numbers_are_counted_from_the_first),
		cmocka_unit_test(pressure_is_that_of_some),
		cmocka_unit_test(busy_is_neither_idle_nor_waiting_nor_stolen_nor_counted_twice),
		cmocka_unit_test(waiting_is_added_up_over_the_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
