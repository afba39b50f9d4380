/* SPDX-License-Identifier: Apache-2.0 */
/* test_trap.c - when a trap fires, with made times and values. */
#include "unit.h"

#include "base/clock.h"
#include "base/own.h"
#include "traps/trap.h"

#define STEP_NS (NSEC_PER_SEC / 2)
#define BEGIN_NS (1000 * NSEC_PER_SEC)

static const struct trap_rule below = {
	.below = 30, .for_ns = 2 * NSEC_PER_SEC, .cooldown_ns = 10 * NSEC_PER_SEC
};
static const struct trap_rule above = {
	.above = 800, .for_ns = 2 * NSEC_PER_SEC, .cooldown_ns = 10 * NSEC_PER_SEC
};

static const struct trap_rule once = { .below = 30, .for_ns = 2 * NSEC_PER_SEC, .once = true };

/* The steps, from 1, at which it fires; two of them at most. */
static void run(const struct trap_rule *rule, const char *values, int fired[2])
{
	struct trap trap = { 0 };
	uint64_t now = BEGIN_NS;
	int len = 0;

	fired[0] = fired[1] = 0;
	trap_begin(&trap, now);
	for (int i = 1; *values; values++, i++) {
		now += STEP_NS;
		if (*values == '?')
			trap_skip(&trap, now);
		else if (trap_feed(&trap, rule, now, (uint64_t)(*values - '0') * 100)) {
			assert_true(len < 2);
			fired[len++] = i;
		}
	}
}

static void it_fires_when_all_values_for_so_long_were_wrong(void **state)
{
	/* Values in hundreds of permille, each of half a second. */
	static const struct {
		const struct trap_rule *rule;
		const char *values;
		int fired[2];
	} rows[] = {
		{ &below, "0000", { 4 } },
		{ &below, "000", { 0 } },
		{ &below, "5500005", { 6 } },
		{ &below, "000100010001", { 0 } },
		{ &below, "00015000100", { 0 } },
		{ &below, "0005000", { 0 } },
		{ &below, "00?0000", { 7 } },
		{ &above, "9999", { 4 } },
		{ &above, "8888888888", { 0 } },
		{ &above, "1239999", { 7 } },
		{ &above, "99929999", { 8 } },
		/* The cool-down is of 20 steps, and what still holds must hold for 4 more. */
		{ &below, "00000000000000000000000", { 4 } },
		{ &below, "0000000000000000000000000000", { 4, 28 } },
		{ &above, "9999111111111111111111199991", { 4, 0 } },
		{ &above, "99991111111111111111111119999", { 4, 29 } },
		/* Each true condition once: it has to end before, which an unknown value is not. */
		{ &once, "00000000000000000000000000000000000000000000", { 4, 0 } },
		{ &once, "0000000500000000000000000000000", { 4, 12 } },
		{ &once, "0000?0000?00000", { 4, 0 } },
		{ &once, "????????", { 0 } },
		{ &once, "0000500?0000", { 4, 12 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fired[2];

		run(rows[i].rule, rows[i].values, fired);
		if (fired[0] != rows[i].fired[0] || fired[1] != rows[i].fired[1])
			fail_msg("row %zu, %s: fired at %d and %d", i, rows[i].values, fired[0],
				fired[1]);
	}
}

static void one_long_value_is_long_enough(void **state)
{
	struct trap trap = { 0 };

	(void)state;
	trap_begin(&trap, BEGIN_NS);
	assert_true(trap_feed(&trap, &above, BEGIN_NS + 3 * NSEC_PER_SEC, 900));
}

static void what_is_refused_need_not_rest(void **state)
{
	struct trap trap = { 0 };
	uint64_t now = BEGIN_NS;

	(void)state;
	trap_begin(&trap, now);
	assert_true(trap_feed(&trap, &above, now += 2 * NSEC_PER_SEC, 900));
	trap_refuse(&trap);
	assert_true(trap_feed(&trap, &above, now += 2 * NSEC_PER_SEC, 900));
	/* Nor does a cool-down end when what is watched is another one of the same name. */
	trap_begin(&trap, now);
	assert_false(trap_feed(&trap, &above, now += 3 * NSEC_PER_SEC, 900));
}

static void what_holds_from_the_start_fires_when_there_is_something_before(void **state)
{
	struct trap_rule rule = below;
	struct trap trap = { 0 };
	uint64_t now = BEGIN_NS;

	(void)state;
	rule.not_before_ns = BEGIN_NS + 5 * NSEC_PER_SEC;
	trap_begin(&trap, now);
	for (int i = 0; i < 9; i++)
		assert_false(trap_feed(&trap, &rule, now += STEP_NS, 0));
	assert_true(trap_feed(&trap, &rule, now += STEP_NS, 0));
}

static void the_last_values_are_kept(void **state)
{
	struct trap trap = { 0 };

	(void)state;
	trap_begin(&trap, BEGIN_NS);
	for (uint64_t i = 1; i <= 3 * TRAP_VALUES_MAX; i++)
		trap_feed(&trap, &above, BEGIN_NS + i * STEP_NS, i);
	assert_int_equal(trap.values_len, 3 * TRAP_VALUES_MAX);
	assert_int_equal(
		trap.values[(trap.values_len - 1) % TRAP_VALUES_MAX].permille, 3 * TRAP_VALUES_MAX);
	assert_int_equal(
		trap.values[trap.values_len % TRAP_VALUES_MAX].permille, 2 * TRAP_VALUES_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fires_when_all_values_for_so_long_were_wrong),
		cmocka_unit_test(one_long_value_is_long_enough),
		cmocka_unit_test(what_is_refused_need_not_rest),
		cmocka_unit_test(what_holds_from_the_start_fires_when_there_is_something_before),
		cmocka_unit_test(the_last_values_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
