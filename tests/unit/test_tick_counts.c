/* SPDX-License-Identifier: Apache-2.0 */
/* test_tick_counts.c - slots of time, percentiles, and the sum over all CPUs. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"
#include "sampler/tick_counts.h"

static void a_slot_begins_where_the_last_one_ends(void **state)
{
	(void)state;
	assert_int_equal(tick_slot(0), 0);
	for (uint32_t slot = 0; slot < TICK_SLOTS - 1; slot++) {
		uint64_t end = tick_slot_end(slot);

		assert_int_equal(tick_slot(end - 1), slot);
		assert_int_equal(tick_slot(end), slot + 1);
		if (slot >= 8)
			assert_true((end - tick_slot_end(slot - 1)) * 8 <= tick_slot_end(slot - 1));
	}
	assert_int_equal(tick_slot(UINT64_MAX), TICK_SLOTS - 1);
}

static void put(struct tick_times *times, uint64_t ns, uint64_t ticks)
{
	times->slots[tick_slot(ns)] += ticks;
	if (ns > times->longest_ns)
		times->longest_ns = ns;
}

static void a_percentile_is_above_that_share_by_a_slot_at_most(void **state)
{
	static const struct {
		uint64_t fast, slow, fast_ns, slow_ns, least_ns, most_ns;
	} rows[] = {
		{ 1, 0, 5000, 0, 5000, 5000 },
		{ 999, 1, 5000, 300000, 5000, 5625 },
		{ 998, 2, 5000, 300000, 300000, 300000 },
		{ 1998, 2, 5000, 300000, 5000, 5625 },
		{ 1997, 3, 5000, 300000, 300000, 300000 },
		{ 10, 1, 5000, 300000, 300000, 300000 },
		{ 1000000, 1000000, 100, 200, 200, 200 },
		{ 1, 1, 5000, 1000000000, 1000000000, 1000000000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick_times times = { 0 };
		uint64_t ns;

		put(&times, rows[i].fast_ns, rows[i].fast);
		if (rows[i].slow > 0)
			put(&times, rows[i].slow_ns, rows[i].slow);
		ns = tick_times_permille(&times, 999);
		if (ns < rows[i].least_ns || ns > rows[i].most_ns)
			fail_msg("row %zu: %llu ns", i, (unsigned long long)ns);
	}
}

static void cpus_are_added_up(void **state)
{
	struct tick_times sum = { 0 }, one = { 0 };

	(void)state;
	assert_int_equal(tick_times_permille(&sum, 999), 0);
	put(&sum, 1000, 3);
	put(&one, 2000, 4);
	tick_times_add(&sum, &one);
	assert_int_equal(sum.longest_ns, 2000);
	assert_int_equal(sum.slots[tick_slot(1000)], 3);
	assert_int_equal(sum.slots[tick_slot(2000)], 4);
}

#define CPUS 512

/* The map, as a file: user space sees no difference. */
static void counts_of_many_cpus_are_read_where_they_are(void **state)
{
	struct tick_stats *cpus, sum;
	struct tick_counts counts = { 0 };
	int fd = memfd_create("tick_counts", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, CPUS * sizeof(*cpus)), 0);
	cpus = mmap(NULL, CPUS * sizeof(*cpus), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(cpus, MAP_FAILED);
	assert_int_equal(tick_counts_open(&counts, fd, CPUS), 0);
	tick_counts_sum(&counts, &sum);
	assert_int_equal(sum.ticks, 0);
	cpus[0].ticks = 3;
	cpus[0].idle = cpus[0].filtered = 1;
	cpus[CPUS - 1].ticks = 4;
	cpus[CPUS - 1].samples = 2;
	cpus[CPUS - 1].lost[7] = 2;
	put(&cpus[CPUS - 1].times[TICK_USER], 2000, 2);
	tick_counts_sum(&counts, &sum);
	assert_int_equal(sum.ticks, 7);
	assert_int_equal(sum.idle + sum.filtered, 2);
	assert_int_equal(sum.samples, 2);
	assert_int_equal(sum.lost[7], 2);
	assert_int_equal(sum.times[TICK_USER].longest_ns, 2000);
	tick_counts_close(&counts);
	assert_int_equal(munmap(cpus, CPUS * sizeof(*cpus)), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(tick_counts_open(&counts, fd, CPUS), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_begins_where_the_last_one_ends),
		cmocka_unit_test(a_percentile_is_above_that_share_by_a_slot_at_most),
		cmocka_unit_test(cpus_are_added_up),
		cmocka_unit_test(counts_of_many_cpus_are_read_where_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
