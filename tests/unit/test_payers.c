/* SPDX-License-Identifier: Apache-2.0 */
/* test_payers.c - files are charged to the containers whose tasks had samples in them. Who pays is
 * seen by whose table makes room. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "containers/containers.h"
#include "containers/payers.h"
#include "containers/tick_shares.h"
#include "made_maps.h"
#include "made_rows.h"
#include "sampler/tally.h"
#include "sampler/warnings.h"
#include "unwind/publish.h"

#define VICTIM 1000 /* cgroups */
#define HOSTILE 2000
#define HOSTILE_BELOW 2001
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

static struct made_maps *made;
static struct publish *publish;
static struct containers *containers;
static struct tally tally;

static void make_cgroup(uint64_t id, const char *path)
{
	struct event_cgroup event = { .kind = EVENT_CGROUP, .change = CGROUP_MADE, .id = id };

	snprintf(event.path, sizeof(event.path), "%s", path);
	assert_int_equal(containers_changed(containers, &event), 0);
}

static int setup(void **state)
{
	(void)state;
	made = made_maps_new();
	assert_int_equal(publish_new(&made->maps, &publish), 0);
	assert_int_equal(containers_new(NULL, NULL, &containers), 0);
	make_cgroup(VICTIM, "/docker/" ID "1");
	make_cgroup(HOSTILE, "/docker/" ID "2");
	make_cgroup(HOSTILE_BELOW, "/docker/" ID "2/below");
	tally = (struct tally){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	publish_free(publish);
	free(made);
	containers_free(containers);
	tally_done(&tally);
	return 0;
}

/* A table that takes nearly a fifth of all page numbers. */
static int put(uint32_t file)
{
	static const struct made_shape sparse = {
		.first = 0, .pages = 100, .apart = 8, .rows_len = 1, .rules_len = 2
	};
	const struct object_key key = { .ino = file + 1 };
	struct made_rows rows;
	int err;

	made_rows_make(&sparse, &rows);
	assert_int_equal(unwind_rows_view(rows.bytes, rows.size, &rows.view), 0);
	made_meet(made, &key, OBJECT_FIRST + file);
	err = publish_rows(publish, &key, OBJECT_FIRST + file, &rows.view);
	made_rows_free(&rows);
	return err;
}

static bool is_ready(uint32_t file)
{
	return publish_table(publish, OBJECT_FIRST + file) == TABLE_READY;
}

/* Ticks of a task in this cgroup, in these files; all tasks that do so have one stack. */
static void tick(uint64_t cgroup, uint32_t first, uint32_t files)
{
	struct event_task task = { .kind = EVENT_TASK,
		.id = (uint32_t)cgroup,
		.key = { .cgroup = cgroup, .tgid = (uint32_t)cgroup, .start_ns = 1 } };
	struct event_stack stack = {
		.kind = EVENT_STACK, .frames_len = (uint16_t)files, .hash = 77 + first
	};
	struct count_key key = { .user_stack = stack.hash, .task = task.id };
	uint64_t frames[8];

	for (uint32_t i = 0; i < files; i++)
		frames[i] = (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT |
			(uint64_t)(OBJECT_FIRST + first + i) << FRAME_OBJECT_SHIFT | 0x1000;
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally_stack(&tally, &stack, frames), 0);
	assert_int_equal(tally_count(&tally, &key, 3), 0);
}

static void a_container_pays_for_the_files_that_it_runs(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 4; file++)
		assert_int_equal(put(file), 0);
	tick(HOSTILE, 1, 2);
	tick(HOSTILE_BELOW, 3, 1);
	tick(VICTIM, 0, 1);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_equal(put(10), 0);
	assert_true(is_ready(0));
	assert_int_equal(is_ready(1) + is_ready(2) + is_ready(3), 2);
}

static void files_that_nobody_ran_are_nobodys(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 4; file++)
		assert_int_equal(put(file), 0);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_equal(put(10), -ENOSPC);
}

/* With the same stack as another one, too: a file that a victim runs does not go with the hostile
 * one's own. */
static void each_container_that_runs_a_file_pays_for_it(void **state)
{
	(void)state;
	for (uint32_t file = 0; file < 4; file++)
		assert_int_equal(put(file), 0);
	tick(HOSTILE, 0, 1);
	tick(HOSTILE, 1, 3);
	tick(VICTIM, 0, 1);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_equal(put(10), 0);
	assert_true(is_ready(0));
	assert_int_equal(is_ready(1) + is_ready(2) + is_ready(3), 2);
}

static const struct tally_wait wait = { .class = THREAD_SLEEPING, .visits = 1, .wait_ns = 5 };

/* Ticks of long ago met both files; a thread waits in the second one. */
static void a_file_in_which_threads_wait_is_in_use(void **state)
{
	const struct object_key idle = { .ino = 1 }, waited = { .ino = 2 };
	const struct count_key key = { .user_stack = 78, .task = VICTIM };

	(void)state;
	for (uint32_t file = 0; file < 2; file++)
		assert_int_equal(put(file), 0);
	tick(VICTIM, 0, 1);
	tick(VICTIM, 1, 1);
	*made->maps.second = 1000;
	assert_int_equal(tally_wait(&tally, &key, &wait), 0);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_not_equal(publish_used(publish, &idle), 1000);
	assert_int_equal(publish_used(publish, &waited), 1000);
	*made->maps.second = 2000;
	(void)tally_next(&tally);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_equal(publish_used(publish, &waited), 2000);
	payers_charge(containers, &tally, publish, NULL);
	assert_int_not_equal(publish_used(publish, &waited), 2000);
}

/* Their stacks may be walked no more: that its name is lost has to be known. */
static void a_file_that_goes_while_threads_wait_in_it_is_counted(void **state)
{
	const struct publish_object objects[] = {
		{ .key = { .ino = 1 }, .id = OBJECT_FIRST },
		{ .key = { .ino = 2 }, .id = OBJECT_FIRST + 1 },
	};
	const struct count_key key = { .user_stack = 78, .task = VICTIM };

	(void)state;
	for (uint32_t file = 0; file < 2; file++)
		assert_int_equal(put(file), 0);
	tick(VICTIM, 1, 1);
	assert_int_equal(tally_wait(&tally, &key, &wait), 0);
	payers_charge(containers, &tally, publish, NULL);
	publish_drop(publish, &objects[0], 1);
	assert_int_equal(publish_waited_gone(publish), 0);
	publish_drop(publish, &objects[1], 1);
	assert_int_equal(publish_waited_gone(publish), 1);
}

/* Also those of ticks that have no user stack. */
static void a_container_pays_for_the_time_of_its_ticks(void **state)
{
	const struct count_key kernel = { .task = HOSTILE };
	struct tick_shares ticks = { 0 };

	(void)state;
	tick(HOSTILE, 1, 1);
	tally_took(&tally, 3000);
	tick(HOSTILE_BELOW, 1, 1);
	tally_took(&tally, 5000);
	tick(VICTIM, 1, 1);
	tally_took(&tally, 100);
	assert_int_equal(tally_count(&tally, &kernel, 2), 0);
	tally_took(&tally, 40);
	payers_charge(containers, &tally, publish, &ticks);
	assert_int_equal(ticks.accounts.len, 2);
	vec_each (&ticks.accounts, a) {
		bool hostile = a->number == containers_account(containers, HOSTILE);

		assert_int_equal(a->ticks, hostile ? 8 : 3);
		assert_int_equal(a->took_ns, hostile ? 8040 : 100);
	}
	tick_shares_done(&ticks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_warning_says_which_containers(void **state)
{
	struct warnings w = { .len = 0 };

	(void)state;
	make_cgroup(3000, "/kubepods.slice/kubepods-poduid1.slice/cri-containerd-" ID "3.scope/in");
	payers_warn(containers, 3000, "too much", &w);
	payers_warn(containers, HOSTILE_BELOW, "too much", &w);
	assert_string_equal(warnings_find(&w, 0), "uid1/0123456789ab: too much");
	assert_string_equal(warnings_find(&w, 1), "0123456789ab: too much");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_pays_for_the_files_that_it_runs),
		TEST(files_that_nobody_ran_are_nobodys),
		TEST(each_container_that_runs_a_file_pays_for_it),
		TEST(a_file_in_which_threads_wait_is_in_use),
		TEST(a_file_that_goes_while_threads_wait_in_it_is_counted),
		TEST(a_container_pays_for_the_time_of_its_ticks),
		TEST(a_warning_says_which_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
