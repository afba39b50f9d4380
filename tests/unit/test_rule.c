/* SPDX-License-Identifier: Apache-2.0 */
/* test_rule.c - the condition of `record --when`: what is taken, and that an error names the word
 * that is wrong. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "traps/rule.h"

static void a_condition_is_one_line(void **state)
{
	static const struct {
		const char *text;
		enum rule_metric metric;
		uint64_t above, below, for_s;
	} rows[] = {
		{ "cpu < 3% for 2s", RULE_CPU, 0, 30, 2 },
		{ "cpu<3%", RULE_CPU, 0, 30, 2 },
		{ "  cpu >250% for 1m ", RULE_CPU, 2500, 0, 60 },
		{ "pressure > 0.5% for 5", RULE_PRESSURE, 5, 0, 5 },
		{ "throttled > 20%", RULE_THROTTLED, 200, 0, 2 },
		{ "wait > 20%", RULE_WAIT, 200, 0, 2 },
		{ "runnable\t> 20%\tfor 10s", RULE_RUNNABLE, 200, 0, 10 },
		{ "blocked > 99.5% for 1h", RULE_BLOCKED, 995, 0, 3600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule rule = { .pid = 7 };
		struct why why;

		if (rule_parse(rows[i].text, &rule, &why) < 0)
			fail_msg("%s: %s", rows[i].text, why.text);
		if (rule.metric != rows[i].metric || rule.above != rows[i].above ||
			rule.below != rows[i].below ||
			rule.for_ns != rows[i].for_s * NSEC_PER_SEC || rule.pid != 7)
			fail_msg("%s", rows[i].text);
	}
}

static void an_error_names_the_word_that_is_wrong(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "",
			"it lacks a metric, one of cpu, pressure, throttled, wait, runnable, "
			"blocked" },
		{ "cpus < 3%", "cpus: no such metric; there are cpu, pressure, throttled, wait" },
		{ "CPU < 3%", "CPU: no such metric" },
		{ "3% > cpu", "3%: no such metric" },
		{ "cpu", "it lacks < or > after the metric: expected METRIC < N% [for TIME]" },
		{ "cpu below 3%", "below: expected < or >" },
		{ "cpu below", "below: expected < or >" },
		{ "cpu <= 3%", "<=: expected < or >" },
		{ "cpu <", "it lacks a share such as 3%" },
		{ "cpu < 3", "3: expected a share such as 1% or 0.5%" },
		{ "cpu < many", "many: expected a share" },
		{ "cpu < -3%", "-3%: expected a share" },
		{ "cpu < 0%", "0% is too small" },
		{ "cpu < 0.01%", "0.01% is too small" },
		{ "cpu < 999999%", "999999% is too large" },
		{ "cpu < 3% during 2s", "during: expected for" },
		{ "cpu < 3% for", "it lacks a time such as 2s after for" },
		{ "cpu < 3% for long", "long: expected a time such as 60s" },
		{ "cpu < 3% for 0.5s", "for 0.5s is too short: the time is 1s to 1h" },
		{ "cpu < 3% for 2h", "for 2h is too long" },
		{ "cpu < 3% for 2s then", "unexpected: then; expected METRIC < N% [for TIME]" },
		{ "cpu < 3% for 2s and wait > 4%", "unexpected: wait > 4%" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rule rule = { .pid = 7 };
		struct why why = { "" };

		if (rule_parse(rows[i].text, &rule, &why) != -EINVAL)
			fail_msg("'%s' was taken", rows[i].text);
		if (!strstr(why.text, rows[i].error))
			fail_msg("'%s': %s", rows[i].text, why.text);
		assert_int_equal(rule.above + rule.below + rule.for_ns, 0);
	}
}

/* A long word, many words: no more than the limits is kept. */
static void a_line_of_any_length_is_refused(void **state)
{
	char text[5000];
	struct rule rule = { 0 };
	struct why why;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(rule_parse(text, &rule, &why), -EINVAL);
	for (size_t i = 1; i < sizeof(text) - 1; i += 2)
		text[i] = i % 4 == 1 ? ' ' : '<';
	assert_int_equal(rule_parse(text, &rule, &why), -EINVAL);
}

static void a_subject_has_the_metrics_that_the_kernel_keeps_of_it(void **state)
{
	static const struct {
		struct rule rule;
		const char *error; /* NULL: none */
		enum rule_subject subject;
		bool of_threads;
	} rows[] = {
		{ { .metric = RULE_CPU, .below = 1 }, NULL, RULE_HOST, false },
		{ { .metric = RULE_BLOCKED, .below = 1 }, NULL, RULE_HOST, true },
		{ { .metric = RULE_THROTTLED, .above = 1 }, "needs a container", RULE_HOST, false },
		{ { .metric = RULE_THROTTLED, .above = 1, .container = "a" }, NULL, RULE_CONTAINER,
			false },
		{ { .metric = RULE_RUNNABLE, .above = 1, .container = "a" }, NULL, RULE_CONTAINER,
			true },
		{ { .metric = RULE_WAIT, .above = 1, .container = "a" }, NULL, RULE_CONTAINER,
			false },
		{ { .metric = RULE_WAIT, .above = 1, .pod = "a" }, NULL, RULE_POD, true },
		{ { .metric = RULE_CPU, .above = 1, .pid = 4 }, NULL, RULE_PROCESS, true },
		{ { .metric = RULE_CPU, .above = 1, .comm = "a", .container = "b" }, NULL,
			RULE_COMM, true },
		{ { .metric = RULE_CPU, .above = 1, .pid = 4, .container = "b" }, "one process",
			RULE_PROCESS, true },
		{ { .metric = RULE_THROTTLED, .above = 1, .unit = "a" }, NULL, RULE_UNIT, false },
		{ { .metric = RULE_CPU, .above = 1, .unit = "a", .comm = "b" }, NULL, RULE_COMM,
			true },
		{ { .metric = RULE_CPU, .above = 1, .unit = "a", .pod = "b" },
			"container, pod and unit exclude each other", RULE_POD, false },
		{ { .metric = RULE_THROTTLED, .above = 1, .pid = 4 }, "needs a container",
			RULE_PROCESS, true },
		{ { .metric = RULE_PRESSURE, .above = 1, .comm = "a" }, "not of a process",
			RULE_COMM, true },
		{ { .metric = RULE_RUNNABLE, .above = 1000 }, "never above 100%", RULE_HOST, true },
		{ { .metric = RULE_CPU, .above = 1, .below = 1 }, "either above or below",
			RULE_HOST, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why why = { "" };
		int err = rule_check(&rows[i].rule, &why);

		if ((err == 0) != !rows[i].error ||
			(rows[i].error && !strstr(why.text, rows[i].error)))
			fail_msg("row %zu: %d: %s", i, err, why.text);
		assert_int_equal(rule_subject(&rows[i].rule), rows[i].subject);
		assert_int_equal(rule_is_of_threads(&rows[i].rule), rows[i].of_threads);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_is_one_line),
		cmocka_unit_test(an_error_names_the_word_that_is_wrong),
		cmocka_unit_test(a_line_of_any_length_is_refused),
		cmocka_unit_test(a_subject_has_the_metrics_that_the_kernel_keeps_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
