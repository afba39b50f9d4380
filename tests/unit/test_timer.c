/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer.c - the timer of a loop. */
#include "unit.h"

#include <poll.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/timer.h"

#define SOON_NS (20 * NSEC_PER_MSEC)
#define PATIENCE_MS 30000

static int open_timer(void)
{
	struct why why;
	int fd;

	assert_int_equal(timer_open(&fd, &why), 0);
	return fd;
}

static bool fires(int fd, int wait_ms)
{
	struct pollfd ready = { fd, POLLIN, 0 };

	return poll(&ready, 1, wait_ms) == 1;
}

static void a_timer_fires_at_the_sooner_time_and_not_before(void **state)
{
	_cleanup_fd_ int fd = open_timer();
	static const struct {
		uint64_t monotonic_ns, boot_ns; /* from now on; 0: never */
	} rows[] = {
		{ SOON_NS, 0 },
		{ SOON_NS, 600 * NSEC_PER_SEC },
		{ 0, SOON_NS },
		{ 600 * NSEC_PER_SEC, SOON_NS },
	};

	(void)state;
	assert_false(fires(fd, 0));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), boot = clock_ns(CLOCK_BOOTTIME);

		timer_set(fd, rows[i].monotonic_ns ? now + rows[i].monotonic_ns : CLOCK_NEVER_NS,
			rows[i].boot_ns ? boot + rows[i].boot_ns : CLOCK_NEVER_NS);
		assert_true(fires(fd, PATIENCE_MS));
		assert_true(clock_ns(CLOCK_MONOTONIC) >= now + SOON_NS);
	}
}

static void what_is_past_fires_at_once(void **state)
{
	_cleanup_fd_ int fd = open_timer();
	const struct {
		uint64_t monotonic_ns, boot_ns;
	} rows[] = { { 0, CLOCK_NEVER_NS }, { CLOCK_NEVER_NS, 0 }, { CLOCK_NEVER_NS, 1 },
		{ 1, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		timer_set(fd, rows[i].monotonic_ns, rows[i].boot_ns);
		assert_true(fires(fd, PATIENCE_MS));
		timer_set(fd, CLOCK_NEVER_NS, CLOCK_NEVER_NS);
		assert_false(fires(fd, 0));
	}
}

static void a_timer_that_fired_is_quiet_when_it_is_set_again(void **state)
{
	_cleanup_fd_ int fd = open_timer();

	(void)state;
	timer_set(fd, 0, CLOCK_NEVER_NS);
	assert_true(fires(fd, PATIENCE_MS));
	timer_set(fd, clock_ns(CLOCK_MONOTONIC) + 600 * NSEC_PER_SEC, CLOCK_NEVER_NS);
	assert_false(fires(fd, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_fires_at_the_sooner_time_and_not_before),
		cmocka_unit_test(what_is_past_fires_at_once),
		cmocka_unit_test(a_timer_that_fired_is_quiet_when_it_is_set_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
