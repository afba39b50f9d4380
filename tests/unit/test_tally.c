/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of stacks in whatever order: none is lost. */
#include "unit.h"
#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/abi.h"
#include "sampler/tally.h"

static void a_stack_that_was_made_here_can_be_built_upon_when_bpf_tells_it(void **state)
{
	static const uint64_t frames[] = { 1, 2, 3 };
	struct event_stack made = { .hash = 7, .frames_len = 3 }, told = made;
	const struct event_leaf leaf = { .hash = 8, .below_leaf = 70, .frame = 9 };
	struct tally tally = { 0 };

	(void)state;
	told.below_leaf = 70;
	assert_int_equal(tally_stack(&tally, &made, frames), 0);
	assert_int_equal(tally_leaf(&tally, &leaf), -ENOENT);
	assert_int_equal(tally_stack(&tally, &told, frames), 0);
	assert_int_equal(tally_leaf(&tally, &leaf), 0);
	assert_int_equal(tally.stacks.len, 2);
	assert_int_equal(tally.stacks.data[1].frames[0], 9);
	assert_int_equal(tally.stacks.data[1].frames[2], 3);
	tally_done(&tally);
}

static void what_is_told_again_is_not_about_to_be_forgotten(void **state)
{
	struct tally tally = { 0 };
	struct event_stack full = { .frames_len = 2, .hash = 11, .below_leaf = 7 };
	struct event_stack other = { .frames_len = 2, .hash = 12, .below_leaf = 7 };
	struct event_leaf leaf = { .hash = 13, .below_leaf = 7, .frame = 99 };
	struct event_task task = { .id = 5 };
	uint64_t frames[] = { 1, 2 }, others[] = { 3, 2 };

	(void)state;
	assert_int_equal(tally_stack(&tally, &full, frames), 0);
	assert_int_equal(tally_stack(&tally, &other, others), 0);
	assert_int_equal(tally_task(&tally, &task), 0);
	tally.interval = 4;
	assert_int_equal(tally_stack(&tally, &full, frames), 0);
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally.stacks.len, 2);
	assert_int_equal(tally.stacks.data[0].used, 4);
	assert_int_equal(tally.stacks.data[1].used, 0);
	assert_int_equal(tally.tasks.data[0].used, 4);
	/* What is built upon it outlives the other one, which goes. */
	assert_int_equal(*hash_find(&tally.by_below_leaf, 7), 0);
	assert_int_equal(tally_leaf(&tally, &leaf), 0);
	assert_int_equal(tally.stacks.data[2].frames[0], 99);
	assert_int_equal(tally.stacks.data[2].frames[1], 2);
	tally_done(&tally);
}

static void ticks_are_counted_under_their_keys_and_the_rest_is_carried(void **state)
{
	struct tally tally = { 0 };
	struct event_stack stack = { .frames_len = 1, .hash = 11, .below_leaf = 7 };
	struct event_task task = { .id = 5 };
	struct count_key key = { .user_stack = 11, .task = 5 }, unknown = { .user_stack = 1 };
	uint64_t frame = 1;

	(void)state;
	assert_int_equal(tally_stack(&tally, &stack, &frame), 0);
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally_key(&tally, &unknown, 30), -ENOENT);
	assert_int_equal(tally_tick(&tally, &key, 1, 10), 0);
	assert_int_equal(tally_tick(&tally, &key, 1, 20), 0);
	tally_took(&tally, 50);
	assert_int_equal(tally.counts.data[1].took_ns, 50);
	tally_cut(&tally, 15);
	assert_int_equal(tally.timeline.due, 1);
	assert_int_equal(tally.counts.data[0].count, 1);
	assert_int_equal(tally.counts.data[1].count, 0);
	assert_false(tally_next(&tally));
	assert_int_equal(tally.counts.len, 1);
	/* It was charged with the interval in which it was read. */
	assert_int_equal(tally.counts.data[0].took_ns, 0);
	tally_cut(&tally, UINT64_MAX);
	assert_int_equal(tally.timeline.due, 1);
	assert_int_equal(tally.timeline.ticks.data[0].time_ns, 20);
	assert_int_equal(tally.counts.data[0].count, 1);
	tally_done(&tally);
}

/* The text of what a thread waits for is one more stack. */
static void a_wait_has_its_text_or_is_refused(void **state)
{
	static const uint64_t text[] = { 0x4141414141414141, 0 };
	const struct event_stack half = { .frames_len = 2, .hash = 11 };
	const struct event_task task = { .id = 5 };
	const struct count_key key = { .task = 5 };
	struct tally_wait wait = { .waits_for = 11, .visits = 2, .wait_ns = 9, .class = 3 };
	struct tally tally = { 0 };

	(void)state;
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally_wait(&tally, &key, &wait), -ENOENT);
	assert_int_equal(tally.counts.len, 0);
	assert_int_equal(tally_stack(&tally, &half, text), 0);
	assert_int_equal(tally_wait(&tally, &key, &wait), 0);
	assert_int_equal(tally.counts.data[0].waits_for, 1);
	assert_string_equal(tally.stacks.data[0].frames, "AAAAAAAA");
	wait.waits_for = 0;
	assert_int_equal(tally_wait(&tally, &key, &wait), 0);
	assert_int_equal(tally.counts.data[1].waits_for, 0);
	assert_int_equal(tally.counts.data[1].wait_ns, 9);
	assert_int_equal(tally.counts.data[1].count, 2);
	tally_done(&tally);
}

/* A thread that waits may not be visited for some intervals. */
static void a_stack_that_is_kept_is_not_forgotten(void **state)
{
	static const uint64_t frames[] = { 1, 2 };
	const struct event_stack half = { .frames_len = 2, .hash = 11 }, other = { .hash = 12 };
	const struct event_task task = { .id = 5 };
	struct tally tally = { 0 };

	(void)state;
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally_stack(&tally, &half, frames), 0);
	assert_int_equal(tally_stack(&tally, &other, frames), 0);
	for (int i = 0; i < 20; i++) {
		tally_keep(&tally, 11);
		tally_keep(&tally, 0);
		tally_keep(&tally, 99);
		tally_keep_task(&tally, 5);
		tally_keep_task(&tally, 6);
		(void)tally_next(&tally);
	}
	assert_non_null(hash_find(&tally.by_hash, 11));
	assert_null(hash_find(&tally.by_hash, 12));
	assert_non_null(tally_task_key(&tally, 5));
	tally_done(&tally);
}

static void what_was_used_in_this_epoch_or_the_last_is_kept(void **state)
{
	struct event_stack used = { .frames_len = 1, .hash = 11 }, idle = { .hash = 12 };
	const struct event_task task = { .id = 5 }, other = { .id = 6 };
	const struct count_key key = { .user_stack = 11, .task = 5 };
	const uint64_t frame = 1;
	struct tally tally = { 0 };
	int epochs = 0;

	(void)state;
	assert_int_equal(tally_stack(&tally, &used, &frame), 0);
	assert_int_equal(tally_stack(&tally, &idle, &frame), 0);
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_int_equal(tally_task(&tally, &other), 0);
	/* A count of the first epoch may come at the end of the second. */
	for (int i = 0; i < 2 * TALLY_EPOCH_INTERVALS - 1; i++) {
		epochs += tally_next(&tally);
		assert_non_null(hash_find(&tally.by_hash, 12));
		assert_non_null(tally_task_key(&tally, 6));
		assert_int_equal(tally_count(&tally, &key, 1), 0);
	}
	assert_int_equal(epochs, 1);
	assert_true(tally_next(&tally));
	assert_null(hash_find(&tally.by_hash, 12));
	assert_null(tally_task_key(&tally, 6));
	assert_int_equal(tally_count(&tally, &key, 1), 0);
	assert_int_equal(tally.free_stacks.len, 1);
	assert_int_equal(tally.free_tasks.len, 1);
	tally_done(&tally);
}

/* However deep stacks are. */
static void stacks_and_tasks_have_so_many_bytes_and_no_more(void **state)
{
	static uint64_t frames[STACK_USER_FRAMES_MAX];
	const struct event_stack small = { .hash = 8, .frames_len = 1 };
	const struct event_task task = { .id = 5 };
	struct tally tally = { .bytes = TALLY_BYTES_MAX - TALLY_STACK_BYTES(3) - TALLY_TASK_BYTES };
	struct event_stack deep = { .hash = 7, .frames_len = STACK_USER_FRAMES_MAX };

	(void)state;
	assert_int_equal(tally_stack(&tally, &deep, frames), -ENOSPC);
	deep.frames_len = 3;
	assert_int_equal(tally_stack(&tally, &deep, frames), 0);
	assert_int_equal(tally_task(&tally, &task), 0);
	assert_true(tally.bytes == TALLY_BYTES_MAX);
	assert_int_equal(tally_stack(&tally, &small, frames), -ENOSPC);
	for (int i = 0; i < 3 * TALLY_EPOCH_INTERVALS; i++)
		tally_next(&tally);
	assert_true(tally.bytes == TALLY_BYTES_MAX - TALLY_STACK_BYTES(3) - TALLY_TASK_BYTES);
	assert_int_equal(tally_stack(&tally, &small, frames), 0);
	tally_done(&tally);
}

static void a_refused_tick_is_lost_for_memory_or_for_its_unknown_key(void **state)
{
	const struct count_key unknown = { .task = 77 };
	struct tally tally = { 0 };

	(void)state;
	assert_int_equal(tally_lost(tally_count(&tally, &unknown, 1)), LOST_DRAIN);
	assert_int_equal(tally_lost(-ENOMEM), LOST_MEMORY);
	assert_int_equal(tally_lost(-ENOSPC), LOST_MEMORY);
	tally_done(&tally);
}

/* Ids begin anew after billions, and a code that is used all the time has its own still. */
static void a_code_whose_id_comes_for_another_has_no_name(void **state)
{
	struct event_code first = { .id = 9, .tgid = 1, .name_bytes = 4, .name = "load" },
			  again = first, other = first;
	const size_t size = offsetof(struct event_code, lines);
	struct tally tally = { 0 };

	(void)state;
	again.lines_bytes = 8;
	memcpy(other.name, "save", 4);
	assert_int_equal(tally_code(&tally, &first, size), 0);
	assert_int_equal(tally_code(&tally, &again, size), 0);
	assert_non_null(tally_find_code(&tally, 9));
	assert_int_equal(tally_code(&tally, &other, size), 0);
	assert_null(tally_find_code(&tally, 9));
	tally_done(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_that_was_made_here_can_be_built_upon_when_bpf_tells_it),
		cmocka_unit_test(what_is_told_again_is_not_about_to_be_forgotten),
		cmocka_unit_test(ticks_are_counted_under_their_keys_and_the_rest_is_carried),
		cmocka_unit_test(a_stack_that_is_kept_is_not_forgotten),
		cmocka_unit_test(a_wait_has_its_text_or_is_refused),
		cmocka_unit_test(what_was_used_in_this_epoch_or_the_last_is_kept),
		cmocka_unit_test(stacks_and_tasks_have_so_many_bytes_and_no_more),
		cmocka_unit_test(a_code_whose_id_comes_for_another_has_no_name),
		cmocka_unit_test(a_refused_tick_is_lost_for_memory_or_for_its_unknown_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
