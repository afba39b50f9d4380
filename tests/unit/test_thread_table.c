/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_table.c - visits to threads that come, stay, end and leave their pids to others. The
 * recorded ones, tests/golden/threads-waits.N, are of tests/targets/waits, two seconds apart, made
 * by tests/tools/thread_times. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/share.h"
#include "waiting/thread_room.h"
#include "waiting/thread_table.h"
#include "waiting/wait_sums.h"

#define SEC 1000000000ULL
#define GOLDEN_MAX (64 * sizeof(struct thread_record))
#define BOOT_NS (77 * SEC) /* CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */

static struct thread_table table;
static struct wait_sums processes, cgroups;
static size_t taken;
static struct thread_split last;
static uint64_t account; /* of all */

static int teardown(void **state)
{
	(void)state;
	thread_table_done(&table);
	wait_sums_done(&processes);
	wait_sums_done(&cgroups);
	table = (struct thread_table){ 0 };
	processes = cgroups = (struct wait_sums){ 0 };
	taken = 0;
	return 0;
}

static uint64_t account_of(void *ctx, uint64_t cgroup)
{
	(void)ctx;
	return account ? account : cgroup;
}

static int take(void *ctx, const struct thread_record *r, const struct thread_split *split)
{
	(void)ctx;
	taken++;
	last = *split;
	assert_int_equal(wait_sums_add_process(&processes, r, split), 0);
	assert_int_equal(wait_sums_add_cgroup(&cgroups, r, split), 0);
	return 0;
}

static int visit(const void *bytes, size_t len, uint64_t refused)
{
	const struct thread_pass pass = {
		.bytes = bytes, .len = len, .refused = refused, .boot_ns = BOOT_NS
	};
	const struct thread_takers takers = { account_of, take, NULL };

	taken = 0;
	processes.visit++;
	cgroups.visit++;
	return thread_table_visit(&table, &pass, &takers);
}

/* A thread that began at second 10 and sleeps, as seen at this second. */
static struct thread_record asleep(uint32_t tid, uint64_t second)
{
	return (struct thread_record){ .tid = tid,
		.tgid = 100,
		.start_ns = BOOT_NS + 10 * SEC,
		.process_start_ns = BOOT_NS + 10 * SEC,
		.cgroup = 5,
		.now_ns = second * SEC,
		.class = THREAD_SLEEPING,
		.flags = THREAD_DELAY_KNOWN,
		.comm = "sleeper" };
}

static void the_first_visit_tells_nothing_and_the_next_all(void **state)
{
	struct thread_record r[] = { asleep(100, 20), asleep(101, 20) };

	(void)state;
	assert_int_equal(visit(r, sizeof(r), 0), 0);
	assert_int_equal(taken, 0);
	r[0].now_ns = r[1].now_ns = 30 * SEC;
	assert_int_equal(visit(r, sizeof(r), 0), 0);
	assert_int_equal(taken, 2);
	assert_int_equal(last.blocked_ns, 10 * SEC);
	assert_int_equal(processes.all.len, 1);
	assert_int_equal(processes.all.data[0].threads, 2);
	assert_int_equal(processes.all.data[0].split.blocked_ns, 20 * SEC);
	assert_string_equal(processes.all.data[0].comm, "sleeper");
	assert_int_equal(cgroups.all.len, 1);
	assert_int_equal(cgroups.all.data[0].split.wall_ns, 20 * SEC);
}

/* More processes than there are places, none of them for long. */
static void processes_that_ended_leave_their_places(void **state)
{
	struct thread_record stays = asleep(1, 20), r;
	const struct thread_split split = { .wall_ns = SEC, .blocked_ns = SEC };

	(void)state;
	stays.tgid = 1;
	for (uint32_t i = 2; i < WAIT_SUMS_MAX + 1000; i++) {
		if (i % 1000 == 0) {
			processes.visit++;
			assert_int_equal(wait_sums_add_process(&processes, &stays, &split), 0);
			wait_sums_forget(&processes);
		}
		r = asleep(i, 20);
		r.tgid = i;
		assert_int_equal(wait_sums_add_process(&processes, &r, &split), 0);
	}
	assert_int_equal(processes.refused, 0);
	assert_true(processes.all.len <= (WAIT_SUMS_KEPT + 1) * 1000);
	assert_int_equal(wait_sums_add_process(&processes, &stays, &split), 0);
	vec_each (&processes.all, sum) {
		if (sum->tgid != 1)
			continue;
		assert_int_equal(sum->split.wall_ns, (WAIT_SUMS_MAX / 1000 + 2) * SEC);
		assert_int_equal(sum->last.wall_ns, 2 * SEC);
		return;
	}
	fail_msg("the process that stays is not there");
}

static void a_pid_that_is_used_again_is_another_thread(void **state)
{
	struct thread_record r = asleep(100, 20);

	(void)state;
	r.run_ns = 5 * SEC;
	visit(&r, sizeof(r), 0);
	r = asleep(100, 30);
	r.start_ns = r.process_start_ns = BOOT_NS + 26 * SEC;
	r.run_ns = 3 * SEC;
	r.voluntary = 1;
	visit(&r, sizeof(r), 0);
	assert_int_equal(taken, 1);
	assert_int_equal(table.stats.ended, 1);
	/* its own time, from its begin */
	assert_int_equal(last.wall_ns, 4 * SEC);
	assert_int_equal(last.running_ns, 3 * SEC);
	assert_int_equal(last.blocked_ns, 1 * SEC);
}

static void a_thread_that_ends_makes_room_and_is_counted(void **state)
{
	struct thread_record r[] = { asleep(100, 20), asleep(101, 20), asleep(102, 20) };

	(void)state;
	visit(r, sizeof(r), 0);
	r[0] = asleep(102, 30);
	visit(r, sizeof(r[0]), 0);
	assert_int_equal(taken, 1);
	assert_int_equal(table.stats.threads, 1);
	assert_int_equal(table.stats.ended, 2);
	assert_int_equal(table.places.used, 1);
	r[0] = asleep(102, 40);
	visit(r, sizeof(r[0]), 0);
	assert_int_equal(last.wall_ns, 10 * SEC);
}

static void threads_without_room_in_a_pass_are_counted(void **state)
{
	struct thread_record r[] = { asleep(100, 20), asleep(101, 20) };

	(void)state;
	visit(r, sizeof(r), 0);
	r[0] = asleep(100, 30);
	visit(r, sizeof(r[0]), 1);
	assert_int_equal(table.stats.refused, 1);
	assert_int_equal(table.stats.ended, 1);
}

static struct thread_record in_cgroup(uint32_t tid, uint64_t cgroup)
{
	struct thread_record r = asleep(tid, 20);

	r.cgroup = cgroup;
	return r;
}

/* One cgroup has all the low pids, and more threads than there is room. */
static void who_has_most_threads_keeps_nobody_out_of_a_pass(void **state)
{
	const struct thread_takers takers = { account_of, take, NULL };
	static struct thread_record records[1500];
	struct thread_room room = { 0 };
	long kept = 0;

	(void)state;
	thread_room_begin(&room, 1000);
	for (uint32_t batch = 0; batch < 4; batch++) {
		size_t had = (size_t)kept;

		for (uint32_t i = 0; i < 500; i++)
			records[had + i] = in_cgroup(100 + i, batch == 3 && i < 20 ? 8 : 7);
		kept = thread_room_take(&room, records, had, had + 500, &takers);
		assert_in_range(kept, had, 1000);
	}
	assert_int_equal(share_held(&room.held, 8), 20);
	assert_int_equal(room.refused, 2000 - (uint64_t)kept);
	assert_true(kept >= 900);
	/* The next pass begins with all of its room. */
	thread_room_begin(&room, 1000);
	assert_int_equal(thread_room_take(&room, records, 0, 800, &takers), 800);
	assert_int_equal(room.refused, 0);
	thread_room_done(&room);
}

static void every_length_of_a_read_is_taken(void **state)
{
	struct thread_record r[] = { asleep(100, 20), asleep(101, 20) };

	(void)state;
	for (size_t len = 0; len <= sizeof(r); len++) {
		teardown(state);
		assert_int_equal(visit(r, len, false), 0);
		assert_int_equal(table.stats.threads, len / sizeof(r[0]));
		assert_int_equal(table.stats.truncated, len % sizeof(r[0]) != 0);
	}
}

static void a_counter_that_steps_costs_one_interval(void **state)
{
	struct thread_record r = asleep(100, 20);

	(void)state;
	r.run_ns = 5 * SEC;
	visit(&r, sizeof(r), 0);
	r = asleep(100, 30); /* as if it had never run */
	visit(&r, sizeof(r), 0);
	assert_int_equal(taken, 0);
	assert_int_equal(table.stats.stepped, 1);
	r = asleep(100, 40);
	visit(&r, sizeof(r), 0);
	assert_int_equal(taken, 1);
	assert_int_equal(last.wall_ns, 10 * SEC);
}

static void one_account_leaves_places_for_others(void **state)
{
	static struct thread_record many[THREAD_TABLE_MAX];
	struct thread_record other = asleep(THREAD_TABLE_MAX + 1, 20);

	for (size_t i = 0; i < THREAD_TABLE_MAX; i++)
		many[i] = asleep((uint32_t)i + 1, 20);
	account = 1;
	assert_int_equal(visit(many, sizeof(many), false), 0);
	assert_true(table.stats.refused > 0);
	assert_true(table.entries.len <= share_room(THREAD_TABLE_MAX) + THREAD_TABLE_MAX / 10);
	account = 2;
	assert_int_equal(visit(&other, sizeof(other), true), 0);
	assert_int_equal(share_held(&table.places, 2), 1);
	account = 0;
	teardown(state);
}

/* Interrupts and the hypervisor took a tenth of what tasks got. */
static void what_cpus_take_from_a_thread_that_waits_is_other(void **state)
{
	struct thread_cpu cpus[] = { { 100, 100, 1, 0 }, { 0 } };
	struct thread_record r = asleep(100, 20);
	struct thread_pass pass = { .bytes = &r, .len = sizeof(r), .cpus = cpus, .cpus_len = 2 };
	const struct thread_takers takers = { account_of, take, NULL };

	(void)state;
	assert_int_equal(thread_table_visit(&table, &pass, &takers), 0);
	r = asleep(100, 30);
	r.run_ns = 2 * SEC;
	r.voluntary = 9;
	cpus[0] = (struct thread_cpu){ 100 + 11 * SEC, 100 + 10 * SEC, 2, 0 };
	cpus[1] = (struct thread_cpu){ 99 * SEC, SEC, 2, 1 }; /* unknown before */
	assert_int_equal(thread_table_visit(&table, &pass, &takers), 0);
	assert_int_equal(last.other_ns, SEC / 5);
	assert_int_equal(last.blocked_ns, 8 * SEC - SEC / 5);
}

static size_t read_golden(const char *path, void *bytes)
{
	FILE *file = fopen(path, "rbe");
	size_t len;

	assert_non_null(file);
	len = fread(bytes, 1, GOLDEN_MAX, file);
	fclose(file);
	return len;
}

static void recorded_threads_did_what_they_are_made_for(void **state)
{
	static uint8_t bytes[2][GOLDEN_MAX];
	size_t len[2];

	(void)state;
	len[0] = read_golden("tests/golden/threads-waits.0", bytes[0]);
	len[1] = read_golden("tests/golden/threads-waits.1", bytes[1]);
	assert_int_equal(visit(bytes[0], len[0], false), 0);
	assert_int_equal(visit(bytes[1], len[1], false), 0);
	assert_int_equal(taken, len[1] / sizeof(struct thread_record));
	assert_int_equal(table.stats.stepped, 0);
	assert_int_equal(processes.all.len, 1);
	assert_string_equal(processes.all.data[0].comm, "waits");
	for (size_t i = 0; i < len[1] / sizeof(struct thread_record); i++) {
		struct thread_record r[2];

		memcpy(&r[0], bytes[0] + i * sizeof(r[0]), sizeof(r[0]));
		memcpy(&r[1], bytes[1] + i * sizeof(r[1]), sizeof(r[1]));
		teardown(state);
		visit(&r[0], sizeof(r[0]), 0);
		visit(&r[1], sizeof(r[1]), false);
		assert_int_equal(taken, 1);
		assert_in_range(last.wall_ns, 2 * SEC, 5 * SEC / 2);
		if (strcmp(r[0].comm, "waits-never") == 0)
			assert_int_equal(last.blocked_ns, last.wall_ns);
		if (strcmp(r[0].comm, "waits-burn") == 0 ||
			strncmp(r[0].comm, "waits-pair", 10) == 0)
			assert_int_equal(last.blocked_ns, 0);
		if (strcmp(r[0].comm, "waits-sleep") == 0)
			assert_true(last.blocked_ns > last.wall_ns / 2);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_visit_tells_nothing_and_the_next_all),
		TEST(processes_that_ended_leave_their_places),
		TEST(a_pid_that_is_used_again_is_another_thread),
		TEST(a_thread_that_ends_makes_room_and_is_counted),
		TEST(threads_without_room_in_a_pass_are_counted),
		TEST(who_has_most_threads_keeps_nobody_out_of_a_pass),
		TEST(every_length_of_a_read_is_taken),
		TEST(a_counter_that_steps_costs_one_interval),
		TEST(one_account_leaves_places_for_others),
		TEST(what_cpus_take_from_a_thread_that_waits_is_other),
		TEST(recorded_threads_did_what_they_are_made_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
