/* SPDX-License-Identifier: Apache-2.0 */
/* test_perf_idle.c - what samples weigh for PerfView, by its own rule: the time to the next line of
 * the same CPU, nothing for the last line of each (LinuxPerfScriptStackSource.cs, DoMetrics). */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sink/perf_idle.h"

#define PERIOD 10101010ULL
#define CPUS 4

struct weights {
	uint64_t samples_ns[CPUS], idle_ns[CPUS];
	uint64_t counts[CPUS];
};

struct fixture {
	struct perf_idle idle;
	struct buf out;
	uint32_t names; /* of samples */
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	perf_idle_done(&f->idle);
	buf_done(&f->out);
	return 0;
}

static void put(struct fixture *f, uint64_t time_ns, uint64_t period_ns, uint32_t cpu)
{
	buf_printf(&f->idle.text, "app%u 1/1 [%03u] %llu.%09llu: cpu-clock: \n\n", f->names++, cpu,
		(unsigned long long)(time_ns / 1000000000),
		(unsigned long long)(time_ns % 1000000000));
	perf_idle_put(&f->idle, time_ns, period_ns, cpu, &f->out);
}

/* The lines of out, which are by time and have all samples in their order. */
static struct weights weigh(struct fixture *f)
{
	struct weights w = { 0 };
	uint64_t last_ns[CPUS] = { 0 }, before_ns = 0;
	bool idle[CPUS] = { false };
	uint32_t name = 0;

	perf_idle_end(&f->idle, &f->out);
	assert_int_equal(buf_err(&f->out), 0);
	for (char *line = f->out.data; line && *line; line = strchr(line, '\n') + 1) {
		unsigned long long seconds, ns;
		unsigned int cpu, number = 0;
		char *at = strchr(line, '[');
		uint64_t now;

		if (*line == '\n' || *line == '\t')
			continue;
		assert_int_equal(sscanf(at, "[%u] %llu.%llu:", &cpu, &seconds, &ns), 3);
		assert_true(cpu < CPUS);
		now = seconds * 1000000000 + ns;
		assert_true(now >= before_ns);
		before_ns = now;
		if (last_ns[cpu] > 0)
			*(idle[cpu] ? &w.idle_ns[cpu] : &w.samples_ns[cpu]) += now - last_ns[cpu];
		last_ns[cpu] = now;
		idle[cpu] = strncmp(line, "swapper 0/0 ", 12) == 0;
		if (idle[cpu])
			continue;
		assert_int_equal(sscanf(line, "app%u ", &number), 1);
		assert_int_equal(number, name++);
		w.counts[cpu]++;
	}
	assert_int_equal(name, f->names);
	return w;
}

static void a_busy_cpu_has_no_idle_line_but_the_last(void **state)
{
	struct fixture *f = *state;
	struct weights w;

	for (uint64_t i = 1; i <= 100; i++)
		put(f, i * PERIOD + (i % 3) * 40000, PERIOD, 1);
	w = weigh(f);
	assert_int_equal(w.counts[1], 100);
	assert_int_equal(w.samples_ns[1], 100 * PERIOD);
	assert_int_equal(w.idle_ns[1], 0);
	assert_non_null(strstr(f->out.data, "swapper 0/0 [001] "));
	assert_null(strstr(strstr(f->out.data, "swapper") + 1, "swapper"));
}

static void a_sample_before_a_gap_weighs_its_period(void **state)
{
	struct fixture *f = *state;
	struct weights w;

	put(f, 1 * PERIOD, PERIOD, 0);
	put(f, 50 * PERIOD, PERIOD, 0);
	put(f, 51 * PERIOD, PERIOD, 0);
	w = weigh(f);
	assert_int_equal(w.samples_ns[0], 3 * PERIOD);
	assert_int_equal(w.idle_ns[0], 48 * PERIOD);
}

/* Also across the places where one profile ends and the next begins, which look like any other. */
static void samples_weigh_their_periods_whatever_the_gaps(void **state)
{
	struct fixture *f = *state;
	uint64_t now = PERIOD, next[CPUS] = { 0 };
	struct weights w;

	srandom(7);
	for (int i = 0; i < 20000; i++) {
		uint32_t cpu = (uint32_t)random() % CPUS;

		now += (uint64_t)random() % (PERIOD / 2);
		if (now < next[cpu])
			continue;
		next[cpu] = now + PERIOD / 3 + (uint64_t)random() % (3 * PERIOD);
		put(f, now, PERIOD, cpu);
	}
	w = weigh(f);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		assert_true(w.counts[cpu] > 1000);
		assert_int_equal(w.samples_ns[cpu], w.counts[cpu] * PERIOD);
		assert_true(w.idle_ns[cpu] > 0);
	}
}

static void a_rate_may_change(void **state)
{
	struct fixture *f = *state;
	struct weights w;

	for (uint64_t i = 1; i <= 10; i++)
		put(f, i * PERIOD, PERIOD, 2);
	for (uint64_t i = 0; i < 100; i++)
		put(f, 11 * PERIOD + i * PERIOD / 10, PERIOD / 10, 2);
	put(f, 90 * PERIOD, PERIOD / 10, 2);
	w = weigh(f);
	assert_int_equal(w.counts[2], 111);
	assert_int_equal(w.samples_ns[2], 10 * PERIOD + 101 * (PERIOD / 10));
}

static void samples_of_an_unknown_period_are_left_alone(void **state)
{
	struct fixture *f = *state;

	put(f, 5, 0, 3);
	put(f, 500 * PERIOD, 0, 3);
	assert_int_equal(weigh(f).idle_ns[3], 0);
	assert_null(strstr(f->out.data, "swapper"));
}

/* What waits is bounded, and nothing is lost. */
static void samples_of_one_moment_are_all_there(void **state)
{
	struct fixture *f = *state;
	uint32_t n = PERF_IDLE_TICKS_MAX + 1000;

	for (uint32_t i = 0; i < n; i++) {
		put(f, PERIOD, PERIOD, i);
		assert_true(f->idle.ticks.len - f->idle.first <= PERF_IDLE_TICKS_MAX + 1);
		assert_true(f->idle.cpus.len <= PERF_IDLE_CPUS_MAX);
	}
	perf_idle_end(&f->idle, &f->out);
	assert_int_equal(buf_err(&f->out), 0);
	for (char *at = f->out.data; (at = strstr(at, "cpu-clock")); at++)
		n--;
	assert_int_equal(n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_busy_cpu_has_no_idle_line_but_the_last),
		TEST(a_sample_before_a_gap_weighs_its_period),
		TEST(samples_weigh_their_periods_whatever_the_gaps),
		TEST(a_rate_may_change),
		TEST(samples_of_an_unknown_period_are_left_alone),
		TEST(samples_of_one_moment_are_all_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
