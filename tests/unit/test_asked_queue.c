/* SPDX-License-Identifier: Apache-2.0 */
/* test_asked_queue.c - in which order an opener gets its requests. */
#include "unit.h"

#include <errno.h>

#include "base/clock.h"
#include "base/own.h"
#include "client/asked_queue.h"

static char we, others; /* two that ask */

static struct asked asked(uint32_t kind, uint64_t id)
{
	return (struct asked){ .request.kind = kind, .ctx = &we, .id = id };
}

static void push(struct asked_queue *queue, uint32_t kind, uint64_t id)
{
	const struct asked one = asked(kind, id);

	assert_int_equal(asked_push(queue, &one), 0);
}

/* As openers.c does it. */
static struct asked send_next(struct asked_queue *queue)
{
	asked_choose_next(queue);
	return *asked_at(queue, queue->sent++);
}

static void without_priority_the_order_is_that_of_the_requests(void **state)
{
	struct asked_queue queue = { 0 };

	(void)state;
	for (uint64_t id = 0; id < 100; id++) {
		push(&queue, OPENING_MAPPED, id);
		push(&queue, OPENING_MAPPED, id + 1000);
		assert_int_equal(send_next(&queue).id, id / 2 + id % 2 * 1000);
		assert_int_equal(asked_pop(&queue).id, id / 2 + id % 2 * 1000);
	}
	assert_int_equal(asked_count(&queue), 100);
	asked_done(&queue);
}

static void what_most_samples_wait_for_is_next_with_its_root_before_it(void **state)
{
	static const uint64_t order[] = { 7, 7, 3, 3, 0, 0, 1, 1, 2, 2, 4, 4 };
	struct asked_queue queue = { 0 };

	(void)state;
	for (uint64_t id = 0; id < 8; id++) {
		push(&queue, OPENING_ROOT, id);
		push(&queue, OPENING_MAPPED, id);
	}
	asked_want(&queue, &we, 3);
	asked_want(&queue, &we, 7);
	asked_want(&queue, &we, 7);
	asked_want(&queue, &others, 5);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct asked next = send_next(&queue);

		assert_int_equal(next.id, order[i]);
		assert_int_equal(next.request.kind, i % 2 ? OPENING_MAPPED : OPENING_ROOT);
	}
	asked_done(&queue);
}

static void what_is_sent_keeps_its_place(void **state)
{
	struct asked_queue queue = { 0 };

	(void)state;
	for (uint64_t id = 0; id < 6; id++)
		push(&queue, OPENING_MAPPED, id);
	assert_int_equal(send_next(&queue).id, 0);
	assert_int_equal(send_next(&queue).id, 1);
	asked_want(&queue, &we, 1);
	asked_want(&queue, &we, 4);
	assert_int_equal(send_next(&queue).id, 4);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(asked_pop(&queue).id, i < 2 ? i : 4);
	assert_int_equal(queue.sent, 0);
	assert_int_equal(send_next(&queue).id, 2);
	asked_done(&queue);
}

static void a_file_that_the_opener_holds_goes_before_all(void **state)
{
	struct asked_queue queue = { 0 };
	const struct asked held = asked(OPENING_TAKE, 9);

	(void)state;
	for (uint64_t id = 0; id < 4; id++)
		push(&queue, OPENING_MAPPED, id);
	assert_int_equal(send_next(&queue).id, 0);
	assert_int_equal(asked_pop(&queue).id, 0);
	asked_want(&queue, &we, 3);
	assert_int_equal(asked_push_next(&queue, &held), 0);
	assert_int_equal(send_next(&queue).id, 9);
	assert_int_equal(send_next(&queue).id, 3);
	assert_int_equal(asked_take_out(&queue, queue.sent).id, 1);
	assert_int_equal(asked_count(&queue), 3);
	asked_done(&queue);
}

#define ALONE (OPENERS_QUEUE_MAX - OPENERS_QUEUE_MAX / 10) /* what an account alone may have */

static void a_full_queue_takes_no_more_and_nothing_is_lost(void **state)
{
	struct asked_queue queue = { 0 };
	const struct asked one = asked(OPENING_MAPPED, 1);
	uint64_t next = 0, first = 0;

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		while (asked_count(&queue) < ALONE)
			push(&queue, OPENING_MAPPED, next++);
		assert_int_equal(asked_push(&queue, &one), -ENOSPC);
		for (int i = 0; i < ALONE - 3; i++)
			assert_int_equal(asked_pop(&queue).id, first++);
	}
	asked_done(&queue);
}

/* ---- accounts ------------------------------------------------------------------------------- */

static struct asked asked_by(uint64_t account, uint64_t id)
{
	struct asked one = asked(OPENING_MAPPED, id);

	one.account = account;
	return one;
}

static size_t push_all(struct asked_queue *queue, uint64_t account)
{
	const struct asked one = asked_by(account, account);
	size_t len = 0;

	while (asked_push(queue, &one) == 0)
		len++;
	return len;
}

static void who_asks_for_thousands_leaves_places_to_others(void **state)
{
	struct asked_queue queue = { 0 };
	const struct asked one = asked_by(1, 1);

	(void)state;
	assert_int_equal(push_all(&queue, 1), ALONE);
	assert_in_range(push_all(&queue, 2), OPENERS_QUEUE_MAX / 40, OPENERS_QUEUE_MAX / 20);
	assert_in_range(push_all(&queue, 3), OPENERS_QUEUE_MAX / 80, OPENERS_QUEUE_MAX / 20);
	/* They come back with the requests. */
	for (int i = 0; i < ALONE; i++)
		assert_int_equal(asked_pop(&queue).account, 1);
	assert_int_equal(asked_push(&queue, &one), 0);
	assert_int_equal(asked_take_out(&queue, asked_count(&queue) - 1).account, 1);
	assert_int_equal(asked_push_next(&queue, &one), 0);
	assert_int_equal(asked_pop(&queue).account, 1);
	while (asked_count(&queue) > 0)
		asked_pop(&queue);
	assert_int_equal(queue.held.used, 0);
	asked_done(&queue);
}

static void push_by(struct asked_queue *queue, uint64_t account, uint64_t id)
{
	const struct asked one = asked_by(account, id);

	assert_int_equal(asked_push(queue, &one), 0);
}

static void who_took_less_of_the_openers_time_is_next(void **state)
{
	struct asked_queue queue = { 0 };
	const struct asked slow = asked_by(1, 0);

	(void)state;
	for (uint64_t id = 0; id < 4; id++)
		push_by(&queue, 1, id);
	push_by(&queue, 2, 10);
	push_by(&queue, 3, 20);
	asked_want(&queue, &we, 2);
	asked_want(&queue, &we, 20);
	asked_want(&queue, &we, 20);
	/* Less than a turn: as before. */
	asked_charge(&queue, &slow, clock_ns(CLOCK_MONOTONIC) - SHARE_TURN_NS / 2);
	assert_int_equal(send_next(&queue).id, 20);
	asked_charge(&queue, &slow, clock_ns(CLOCK_MONOTONIC) - SHARE_TURN_NS);
	assert_int_equal(send_next(&queue).id, 10);
	assert_int_equal(send_next(&queue).id, 2);
	assert_int_equal(send_next(&queue).id, 0);
	push_by(&queue, 2, 11);
	assert_int_equal(send_next(&queue).id, 11);
	assert_int_equal(send_next(&queue).id, 1);
	asked_done(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_priority_the_order_is_that_of_the_requests),
		cmocka_unit_test(what_most_samples_wait_for_is_next_with_its_root_before_it),
		cmocka_unit_test(what_is_sent_keeps_its_place),
		cmocka_unit_test(a_file_that_the_opener_holds_goes_before_all),
		cmocka_unit_test(a_full_queue_takes_no_more_and_nothing_is_lost),
		cmocka_unit_test(who_asks_for_thousands_leaves_places_to_others),
		cmocka_unit_test(who_took_less_of_the_openers_time_is_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
