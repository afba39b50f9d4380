/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshots.c - who keeps the mappings of its processes when there are many; the mappings are
 * made here.
 * LINK: -Wl,--wrap=sampler_scan */
#include "unit.h"

#include "base/clock.h"
#include "files/file_time.h"
#include "files/snapshots.h"

#define GREEDY 1
#define SMALL 2
#define START_NS 7

static uint32_t mappings; /* of each process */
static uint32_t scans;

int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx);

int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx)
{
	struct scan_mapping mapping = { .start = tgid };

	(void)sampler;
	scans++;
	for (uint32_t i = 0; i < mappings; i++)
		assert_int_equal(take(ctx, &mapping), 0);
	return 0;
}

static struct snapshots *open_snapshots(struct file_time *time)
{
	static struct snapshots snapshots;

	snapshots = (struct snapshots){ .time = time };
	mappings = 1;
	scans = 0;
	return &snapshots;
}

static bool has(struct snapshots *snapshots, uint32_t tgid, uint64_t account)
{
	uint32_t before = scans;
	struct snapshot *found = snapshots_of(snapshots, tgid, START_NS, account);

	assert_non_null(found);
	return scans == before && found->mappings.data[0].start == tgid;
}

static void who_has_most_gives_its_oldest(void **state)
{
	struct file_time time = { .part = 0 };
	struct snapshots *snapshots = open_snapshots(&time);

	(void)state;
	for (uint32_t tgid = 1; tgid <= 10; tgid++)
		assert_false(has(snapshots, tgid, SMALL));
	for (uint32_t tgid = 1001; tgid <= 5000; tgid++)
		assert_false(has(snapshots, tgid, GREEDY));
	assert_int_equal(snapshots->dropped, 10 + 4000 - SNAPSHOTS_MAX);
	for (uint32_t tgid = 1; tgid <= 10; tgid++)
		assert_true(has(snapshots, tgid, SMALL));
	assert_true(has(snapshots, 5000, GREEDY));
	assert_false(has(snapshots, 11, SMALL)); /* there is room for whoever has little */
	assert_true(has(snapshots, 11, SMALL));
	snapshots_done(snapshots);
}

static void bytes_are_shared_as_processes_are(void **state)
{
	struct file_time time = { .part = 0 };
	struct snapshots *snapshots = open_snapshots(&time);
	uint64_t bytes = 0;

	(void)state;
	assert_false(has(snapshots, 1, SMALL));
	mappings = 60000;
	for (uint32_t tgid = 2; tgid < 20; tgid++)
		assert_false(has(snapshots, tgid, GREEDY));
	vec_each (&snapshots->all, one)
		bytes += (*one)->mappings.cap * sizeof(struct scan_mapping);
	assert_in_range(bytes, 1, SNAPSHOTS_BYTES_MAX);
	assert_true(snapshots->dropped > 0);
	assert_true(has(snapshots, 1, SMALL));
	snapshots_done(snapshots);
}

/* A process with few mappings takes a place as one with many does. */
static void many_small_ones_do_not_push_out_a_few_of_middle_size(void **state)
{
	struct file_time time = { .part = 0 };
	struct snapshots *snapshots = open_snapshots(&time);

	(void)state;
	mappings = 100;
	for (uint32_t tgid = 1; tgid <= 60; tgid++)
		assert_false(has(snapshots, tgid, SMALL));
	mappings = 3;
	for (uint32_t tgid = 1001; tgid <= 3000; tgid++)
		assert_false(has(snapshots, tgid, GREEDY));
	for (uint32_t tgid = 1; tgid <= 60; tgid++)
		assert_true(has(snapshots, tgid, SMALL));
	snapshots_done(snapshots);
}

static void who_owes_time_has_no_look_at_its_new_programs(void **state)
{
	struct file_time time = { .part = 0 };
	struct snapshots *snapshots = open_snapshots(&time);
	const struct event_exec exec = { .tgid = 5, .start_ns = START_NS };

	(void)state;
	file_time_limit(&time, 10);
	assert_false(file_time_refuses(&time, GREEDY, clock_ns(CLOCK_MONOTONIC)));
	file_time_charge(&time, GREEDY, 10 * FILE_TIME_MAX_NS);
	snapshots_watch(snapshots, exec, GREEDY);
	assert_int_equal(scans, 0);
	snapshots_watch(snapshots, exec, SMALL);
	assert_int_equal(scans, 1);
	assert_true(has(snapshots, 5, SMALL));
	assert_true(share_held(&time.spent.held, SMALL) > 0);
	snapshots_watch(snapshots, exec, SMALL); /* it runs another file */
	assert_int_equal(scans, 2);
	snapshots_done(snapshots);
	file_time_done(&time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_most_gives_its_oldest),
		cmocka_unit_test(bytes_are_shared_as_processes_are),
		cmocka_unit_test(many_small_ones_do_not_push_out_a_few_of_middle_size),
		cmocka_unit_test(who_owes_time_has_no_look_at_its_new_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
