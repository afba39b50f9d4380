/* SPDX-License-Identifier: Apache-2.0 */
/* test_governor.c - when the rate steps down, how far, and when it comes back. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "daemon/governor.h"

#define ALLOWED 10 /* permille */

/* n intervals of so many seconds, each of which cost so many permille, of a core and of a CPU for
 * ticks; how often the rate changed */
static int feed_both(
	struct governor *g, int n, uint64_t seconds, uint64_t permille, uint64_t ticks_permille)
{
	const struct governor_cost cost = {
		.wall_ns = seconds * NSEC_PER_SEC,
		.used_ns = seconds * NSEC_PER_SEC * permille / 1000,
		.ticks_ns = seconds * NSEC_PER_SEC * ticks_permille / 1000,
	};
	int changes = 0;

	for (int i = 0; i < n; i++)
		changes += governor_feed(g, &cost);
	return changes;
}

static int feed(struct governor *g, int n, uint64_t seconds, uint64_t permille)
{
	return feed_both(g, n, seconds, permille, 0);
}

static void what_is_cheap_enough_changes_nothing(void **state)
{
	struct governor g;

	(void)state;
	governor_init(&g, 19, ALLOWED);
	assert_int_equal(feed(&g, 100, 60, ALLOWED), 0);
	assert_int_equal(feed(&g, 100, 60, 0), 0);
	assert_int_equal(g.hz, 19);
}

static void one_dear_window_is_let_pass(void **state)
{
	struct governor g;

	(void)state;
	governor_init(&g, 19, ALLOWED);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(feed(&g, GOVERNOR_WINDOWS_DOWN - 1, 60, 500), 0);
		assert_int_equal(feed(&g, 1, 60, ALLOWED), 0);
	}
	assert_int_equal(g.hz, 19);
}

static void the_rate_is_halved_to_a_least_one(void **state)
{
	static const uint32_t want[] = { 49, 24, 12, 6, GOVERNOR_HZ_MIN, GOVERNOR_HZ_MIN };
	struct governor g;

	(void)state;
	governor_init(&g, 99, ALLOWED);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		feed(&g, GOVERNOR_WINDOWS_DOWN, 60, ALLOWED + 1);
		assert_int_equal(g.hz, want[i]);
	}
	assert_int_equal(g.stepped_down, 5);
	governor_init(&g, 3, ALLOWED);
	assert_int_equal(feed(&g, 10, 60, 900), 0);
	assert_int_equal(g.hz, 3);
}

static void it_comes_back_when_twice_the_cost_is_well_within(void **state)
{
	struct governor g;

	(void)state;
	governor_init(&g, 99, ALLOWED);
	feed(&g, 2 * GOVERNOR_WINDOWS_DOWN, 60, 100);
	assert_int_equal(g.hz, 24);
	/* Twice as much would be too much again: it stays. */
	assert_int_equal(feed(&g, 100, 60, ALLOWED * 6 / 10), 0);
	assert_int_equal(feed(&g, GOVERNOR_WINDOWS_UP - 1, 60, ALLOWED * 4 / 10), 0);
	assert_int_equal(feed(&g, 1, 60, ALLOWED * 4 / 10), 1);
	assert_int_equal(g.hz, 48);
	feed(&g, 20, 60, 0);
	assert_int_equal(g.hz, 99);
	assert_int_equal(g.stepped_up, 3);
}

static void short_intervals_are_added_up(void **state)
{
	struct governor g;

	(void)state;
	governor_init(&g, 99, ALLOWED);
	/* Nine seconds that cost all and one that cost nothing are one dear window. */
	assert_int_equal(feed(&g, 9, 1, 1000), 0);
	assert_false(g.ended);
	assert_int_equal(feed(&g, 1, 1, 0), 0);
	assert_true(g.ended);
	assert_int_equal(g.cost_ppm, 900000);
	assert_int_equal(feed(&g, 9, 1, 1000), 0);
	assert_int_equal(feed(&g, 1, 1, 0), 1);
	assert_int_equal(g.hz, 49);
}

static void each_budget_is_its_own(void **state)
{
	struct governor g;

	(void)state;
	governor_init(&g, 99, ALLOWED);
	g.spent = true;
	/* Together they are more than one budget. */
	assert_int_equal(feed_both(&g, 100, 60, ALLOWED, ALLOWED), 0);
	assert_int_equal(feed_both(&g, GOVERNOR_WINDOWS_DOWN, 60, 0, ALLOWED + 1), 1);
	assert_int_equal(g.hz, 49);
	assert_int_equal(g.ticks_ppm, (ALLOWED + 1) * 1000);
	assert_int_equal(g.cost_ppm, 0);
	assert_int_equal(feed_both(&g, 100, 60, 0, ALLOWED), 0);
	assert_int_equal(feed_both(&g, GOVERNOR_WINDOWS_UP, 60, 0, ALLOWED * 4 / 10), 1);
	assert_int_equal(g.hz, 98);
}

static void accounts_give_before_the_rate_does(void **state)
{
	struct governor g;
	struct tick_load load;

	(void)state;
	governor_init(&g, 99, ALLOWED);
	assert_int_equal(feed_both(&g, 100, 60, 0, 500), 0);
	assert_int_equal(g.hz, 99);
	load = governor_load(&g);
	assert_int_equal(load.cost_ppm, 500000);
	assert_int_equal(load.allowed_ppm, ALLOWED * 1000);
	assert_int_equal(load.period_ns, NSEC_PER_SEC / 99);
	assert_true(load.may_raise);
	g.spent = true;
	assert_int_equal(feed_both(&g, GOVERNOR_WINDOWS_DOWN, 60, 0, 500), 1);
	load = governor_load(&g);
	assert_false(load.may_raise);
}

/* What the log says of the steps; text has room for it. */
static void log_steps(
	struct governor *g, const uint64_t *permille, size_t len, char *text, size_t size)
{
	struct log log = { .quiet = false };
	FILE *file = tmpfile();
	int was = dup(STDERR_FILENO);

	dup2(fileno(file), STDERR_FILENO);
	for (size_t i = 0; i < len; i++) {
		uint32_t before = g->hz;

		if (feed(g, 1, 60, permille[i]) > 0)
			governor_log(g, before, &log);
	}
	dup2(was, STDERR_FILENO);
	close(was);
	text[pread(fileno(file), text, size - 1, 0)] = '\0';
	fclose(file);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* 19 to 9 is one step, and back to 19 are two. */
static void each_step_down_is_said(void **state)
{
	uint64_t permille[4 * (GOVERNOR_WINDOWS_DOWN + 2 * GOVERNOR_WINDOWS_UP)];
	struct governor g;
	char text[4096];
	size_t len = 0;

	(void)state;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < GOVERNOR_WINDOWS_DOWN; i++)
			permille[len++] = 500;
		for (int i = 0; i < 2 * GOVERNOR_WINDOWS_UP; i++)
			permille[len++] = 0;
	}
	governor_init(&g, 19, ALLOWED);
	log_steps(&g, permille, len, text, sizeof(text));
	assert_int_equal(g.stepped_down, 4);
	assert_int_equal(count(text, "continuing at 9 Hz"), 4);
	assert_int_equal(count(text, "sampling at 19 Hz again"), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cheap_enough_changes_nothing),
		cmocka_unit_test(one_dear_window_is_let_pass),
		cmocka_unit_test(the_rate_is_halved_to_a_least_one),
		cmocka_unit_test(it_comes_back_when_twice_the_cost_is_well_within),
		cmocka_unit_test(short_intervals_are_added_up),
		cmocka_unit_test(each_budget_is_its_own),
		cmocka_unit_test(accounts_give_before_the_rate_does),
		cmocka_unit_test(each_step_down_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
