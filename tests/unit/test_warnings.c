/* SPDX-License-Identifier: Apache-2.0 */
/* test_warnings.c - which warnings are said, when there are many, and when again.
 * LINK: -Wl,--wrap=clock_gettime */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sampler/warnings.h"

#define LEFT_OUT "84 more warnings of this interval are left out"

static uint64_t now_ns = 1;

int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	out->tv_sec = (time_t)(now_ns / NSEC_PER_SEC);
	out->tv_nsec = (long)(now_ns % NSEC_PER_SEC);
	return 0;
}

/* Number of warnings from *said on; *said moves on. text: how often it is among them. */
static size_t say(const struct warnings *w, size_t *said, const char *text, size_t *times)
{
	const char *warning;
	size_t len = 0;

	for (*times = 0; (warning = warnings_find(w, *said)); ++*said, len++)
		*times += strcmp(warning, text) == 0;
	return len;
}

static void what_was_said_lately_is_not_said_again(void **state)
{
	struct warnings w = { .len = 0 };
	size_t said = 0, times;

	(void)state;
	warnings_add(&w, "");
	assert_null(warnings_find(&w, 0));
	for (int interval = 0; interval < 5; interval++) {
		warnings_add(&w, "one");
		warnings_add(&w, "another");
		warnings_next(&w);
	}
	assert_int_equal(say(&w, &said, "one", &times), 2);
	assert_int_equal(times, 1);
}

static void what_is_still_so_after_an_hour_is_said_again(void **state)
{
	struct warnings w = { .len = 0 };
	size_t said = 0, times;

	(void)state;
	for (int minute = 0; minute < 180; minute++) {
		warnings_add(&w, "one");
		warnings_next(&w);
		now_ns += 60 * NSEC_PER_SEC;
	}
	assert_int_equal(say(&w, &said, "one", &times), 3);
}

/* One neighbour has a warning for each of its processes. */
static void many_warnings_do_not_keep_later_ones_from_being_said(void **state)
{
	struct warnings w = { .len = 0 };
	size_t said = 0, times, other_times = 0;
	char text[64];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "process %d", i);
		warnings_add(&w, text);
		if (i % 100 == 99) {
			warnings_next(&w);
			assert_int_equal(say(&w, &said, LEFT_OUT, &times), 17);
			assert_int_equal(times, 1);
		}
	}
	warnings_add(&w, "a worker was replaced");
	warnings_next(&w);
	assert_int_equal(say(&w, &said, "a worker was replaced", &other_times), 1);
	assert_int_equal(other_times, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_said_lately_is_not_said_again),
		cmocka_unit_test(what_is_still_so_after_an_hour_is_said_again),
		cmocka_unit_test(many_warnings_do_not_keep_later_ones_from_being_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
