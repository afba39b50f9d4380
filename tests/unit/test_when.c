/* SPDX-License-Identifier: Apache-2.0 */
/* test_when.c - moments as people write them. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "store/when.h"

#define NOW 1800000000ULL /* 2027-01-15 08:00:00 UTC */

static void moments_are_read(void **state)
{
	static const struct {
		const char *zone, *text;
		uint64_t seconds;
	} rows[] = {
		{ "UTC", "now", NOW },
		{ "UTC", "today", NOW - 8 * 3600 },
		{ "UTC", "yesterday", NOW - 32 * 3600 },
		{ "<-03>3", "today", NOW - 5 * 3600 },
		{ "UTC", "90s", NOW - 90 },
		{ "UTC", "30m", NOW - 1800 },
		{ "UTC", "2h", NOW - 7200 },
		{ "UTC", "-2h", NOW - 7200 },
		{ "UTC", "7d", NOW - 7 * 86400 },
		{ "UTC", "99999999d", 0 },
		{ "UTC", "@1700000000", 1700000000 },
		{ "UTC", "07:30", NOW - 1800 },
		{ "UTC", "08:00", NOW },
		{ "UTC", "08:00:01", NOW + 1 - 86400 },
		{ "UTC", "2027-01-15", NOW - 8 * 3600 },
		{ "UTC", "2027-01-15 07:59:59", NOW - 1 },
		{ "UTC", "2027-01-15T07:59", NOW - 60 },
		{ "<-03>3", "2027-01-15 05:00", NOW },
		{ "<-03>3", "2027-01-15 08:00Z", NOW },
		{ "<-03>3", "04:00", NOW - 3600 },
		{ "<-03>3", "07:00Z", NOW - 3600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 1;
		struct why why = { "" };

		setenv("TZ", rows[i].zone, 1);
		tzset();
		if (when_parse(rows[i].text, NOW * NSEC_PER_SEC, &ns, &why) < 0 ||
			ns != rows[i].seconds * NSEC_PER_SEC)
			fail_msg("%s in %s: %llu, %s", rows[i].text, rows[i].zone,
				(unsigned long long)(ns / NSEC_PER_SEC), why.text);
	}
}

static void what_is_no_moment_is_refused(void **state)
{
	static const char *const rows[] = { "", "h", "--2h", "-", "2", "-2", "2hours", "2 h",
		"25:00", "12:61", "2027-02-30", "2027-13-01", "2027-01-15 8 Uhr", "tomorrow", "@",
		"@-5", "@1x", "@1.x", "@.5", "@99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns;
		struct why why;

		if (when_parse(rows[i], NOW * NSEC_PER_SEC, &ns, &why) != -EINVAL)
			fail_msg("%s was taken", rows[i]);
	}
}

static void an_epoch_may_have_a_fraction(void **state)
{
	uint64_t at;
	struct why why;

	(void)state;
	assert_int_equal(when_parse("@1700000000.25", 0, &at, &why), 0);
	assert_true(at == 1700000000250000000ULL);
	assert_int_equal(when_parse("@1.0123456789999", 0, &at, &why), 0);
	assert_true(at == 1012345678ULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_epoch_may_have_a_fraction),
		cmocka_unit_test(moments_are_read),
		cmocka_unit_test(what_is_no_moment_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
