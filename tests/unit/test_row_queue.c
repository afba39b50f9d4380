/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_queue.c - in which order files get their rows. The worker is made here: it takes what it
 * is sent, and answers the oldest request when the test says so.
 * LINK: -Wl,--wrap=lane_start,--wrap=lane_send,--wrap=lane_wait,--wrap=lane_done
 * LINK: -Wl,--wrap=lane_rest,--wrap=lane_worker_ns */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/row_queue.h"
#include "wire/proto_body.h"

#define LARGE (ROW_AHEAD_BYTES + 1)

static struct row_queue queue;
static struct blame blame;
static struct proto_request sent[64];
static size_t sent_len, answered;
static bool rested;
static uint64_t take_ns;          /* of each request; 0: no answer comes */
static uint64_t worker_ns;        /* what the worker took so far */
static uint64_t told_ns;          /* of the latest rows */
static bool unsendable;           /* no request can be sent now */
static bool ended;                /* so nothing can be sent to it, until another is started */
static void (*from_within)(void); /* called once, in the callback */
static int small_fd, large_fd;

int __wrap_lane_start(struct lane *lane);
int __wrap_lane_send(struct lane *lane);
enum lane_result __wrap_lane_wait(struct lane *lane, uint64_t until_ns);
void __wrap_lane_done(struct lane *lane);
void __wrap_lane_rest(struct lane *lane);
uint64_t __wrap_lane_worker_ns(const struct lane *lane);

int __wrap_lane_start(struct lane *lane)
{
	lane->child.pid = 1;
	ended = false;
	return 0;
}

int __wrap_lane_send(struct lane *lane)
{
	if (unsendable)
		return -ETOOMANYREFS;
	if (ended) {
		lane->child.pid = 0;
		lane->cause = LANE_KILLED;
		return -ENOTCONN;
	}
	assert_true(sent_len < ARRAY_SIZE(sent));
	sent[sent_len++] = lane->out.request;
	lane->busy = true;
	return 0;
}

enum lane_result __wrap_lane_wait(struct lane *lane, uint64_t until_ns)
{
	const struct proto_rows body = { .rows_status = WORKER_UNREADABLE };

	(void)until_ns;
	if (take_ns == 0 || answered == sent_len)
		return LANE_LATE;
	proto_begin_reply(&lane->in, &sent[answered++].head, WORKER_OK);
	proto_put(&lane->in, &body, sizeof(body));
	lane->asked_ns = clock_ns(CLOCK_MONOTONIC) - take_ns;
	worker_ns += take_ns;
	lane->busy = answered < sent_len;
	take_ns = 0;
	return LANE_REPLY;
}

void __wrap_lane_done(struct lane *lane)
{
	(void)lane;
}

void __wrap_lane_rest(struct lane *lane)
{
	lane->child.pid = 0;
	rested = true;
}

uint64_t __wrap_lane_worker_ns(const struct lane *lane)
{
	(void)lane;
	return worker_ns;
}

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	void (*call)(void) = from_within;

	(void)ctx;
	told_ns = rows->ns;
	from_within = NULL;
	if (call)
		call();
}

static int file_of(off_t bytes)
{
	int fd = memfd_create("rows", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	return fd;
}

static int setup(void **state)
{
	(void)state;
	blame = (struct blame){ 0 };
	queue = (struct row_queue){ .blame = &blame, .fn = on_rows, .lane.child.pid = 1 };
	sent_len = answered = 0;
	rested = false;
	take_ns = worker_ns = told_ns = 0;
	ended = unsendable = false;
	from_within = NULL;
	small_fd = file_of(4096);
	large_fd = file_of(LARGE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	row_queue_done(&queue);
	blame_done(&blame);
	close(small_fd);
	close(large_fd);
	return 0;
}

static void put(uint64_t id, int fd)
{
	assert_int_equal(row_queue_put(&queue, id, fd, false), 0);
}

/* The worker answers the oldest request, for which it took so long. */
static void answer(uint64_t ns)
{
	take_ns = ns;
	row_queue_poll(&queue);
}

static void the_file_that_most_samples_wait_for_is_next(void **state)
{
	(void)state;
	put(1, large_fd);
	row_queue_poll(&queue);
	for (uint64_t id = 2; id < 6; id++)
		put(id, small_fd);
	row_queue_want(&queue, 4, 2, 0);
	row_queue_want(&queue, 3, 1, 0);
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 1);
	answer(1);
	assert_int_equal(sent[1].id, 4);
	assert_int_equal(sent[2].id, 3);
	assert_int_equal(sent_len, 5);
}

static void nothing_is_sent_before_or_after_a_file_that_may_take_long(void **state)
{
	(void)state;
	put(1, small_fd);
	put(2, large_fd);
	put(3, small_fd);
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 1);
	answer(1);
	assert_int_equal(sent[1].id, 2);
	assert_int_equal(sent_len, 2);
	answer(1);
	assert_int_equal(sent_len, 3);
}

/* An account has eight files of two seconds each, in which it is busy; another one begins. */
static void an_account_that_took_much_comes_after_those_that_took_little(void **state)
{
	enum { HOSTILE = 7, VICTIM };

	(void)state;
	for (uint64_t id = 1; id <= 8; id++) {
		put(id, large_fd);
		row_queue_want(&queue, id, 100, HOSTILE);
	}
	row_queue_poll(&queue);
	put(20, small_fd);
	row_queue_want(&queue, 20, 1, VICTIM);
	answer(2 * NSEC_PER_SEC);
	assert_int_equal(sent[1].id, 20);
	put(21, small_fd);
	row_queue_want(&queue, 21, 1, VICTIM);
	answer(NSEC_PER_MSEC);
	assert_int_equal(sent[2].id, 21);
	answer(NSEC_PER_MSEC);
	assert_true(sent[3].id <= 8);
}

/* The answers say that nothing came of it, in no time. */
static void what_a_file_took_is_told_by_the_kernels_clock(void **state)
{
	(void)state;
	put(1, large_fd);
	row_queue_poll(&queue);
	answer(7 * NSEC_PER_MSEC);
	assert_int_equal(told_ns, 7 * NSEC_PER_MSEC);
	put(2, large_fd);
	row_queue_poll(&queue);
	answer(5 * NSEC_PER_MSEC);
	assert_int_equal(told_ns, 5 * NSEC_PER_MSEC);
}

static void a_page_of_an_account_that_took_little_comes_first_too(void **state)
{
	(void)state;
	put(1, large_fd);
	row_queue_want(&queue, 1, 1, 7);
	row_queue_poll(&queue);
	for (uint32_t number = 0; number < 2 * ROW_JOB_PAGES; number++)
		assert_int_equal(row_queue_put_page(&queue, 2, small_fd, 0, number, 7), 0);
	assert_int_equal(row_queue_put_page(&queue, 3, small_fd, 0, 0, 8), 0);
	answer(NSEC_PER_SEC);
	assert_int_equal(sent[1].id, 3);
}

static void whoever_took_least_pays_for_a_file_that_several_want(void **state)
{
	enum { HOSTILE = 7, VICTIM };

	(void)state;
	put(1, large_fd);
	row_queue_want(&queue, 1, 1, HOSTILE);
	row_queue_poll(&queue);
	put(2, large_fd);
	row_queue_want(&queue, 2, 50, HOSTILE);
	put(3, small_fd);
	row_queue_want(&queue, 3, 50, HOSTILE);
	answer(NSEC_PER_SEC);
	assert_int_equal(sent[1].id, 2);
	row_queue_want(&queue, 3, 1, VICTIM);
	put(4, small_fd);
	row_queue_want(&queue, 4, 2, HOSTILE);
	answer(NSEC_PER_SEC);
	assert_int_equal(sent[2].id, 3);
}

static void what_an_account_took_is_forgotten_after_a_while(void **state)
{
	(void)state;
	put(1, large_fd);
	row_queue_want(&queue, 1, 1, 7);
	row_queue_poll(&queue);
	put(2, large_fd);
	row_queue_want(&queue, 2, 2, 7);
	put(3, large_fd);
	row_queue_want(&queue, 3, 1, 8);
	answer(NSEC_PER_SEC);
	assert_int_equal(sent[1].id, 3);
	put(4, large_fd);
	row_queue_want(&queue, 4, 1, 8);
	queue.turns.since_ns -= SHARE_TURNS_NS;
	answer(1);
	assert_int_equal(sent[2].id, 2);
}

static void send_to_the_ended(void)
{
	ended = true;
	put(4, small_fd);
	row_queue_kick(&queue);
	assert_int_equal(sent_len, 3);
}

/* 1 to 3 are sent, and their worker is found lost with 4: another one is sent all from `first`. */
static void is_sent_again_from(uint64_t first)
{
	bool again[5] = { false };

	for (int i = 0; i < 3; i++)
		row_queue_poll(&queue);
	for (size_t i = 3; i < sent_len; i++)
		again[sent[i].id] = true;
	for (uint64_t id = 1; id <= 4; id++)
		assert_int_equal(again[id], id >= first);
	assert_int_equal(sent_len, 3 + (5 - first));
	assert_int_equal(row_queue_len(&queue), 5 - first);
}

static void send_three(void)
{
	for (uint64_t id = 1; id <= 3; id++)
		put(id, small_fd);
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 3);
}

static void requests_outlive_a_worker_that_is_found_lost_by_the_next_one(void **state)
{
	(void)state;
	send_three();
	send_to_the_ended();
	is_sent_again_from(1);
}

static void they_do_so_where_the_next_one_is_sent_from_the_callback(void **state)
{
	(void)state;
	send_three();
	from_within = send_to_the_ended;
	answer(1);
	assert_null(from_within);
	is_sent_again_from(2);
}

static void fail_on_rows(void *ctx, const struct worker_rows *rows)
{
	(void)ctx;
	(void)rows;
	fail();
}

static void a_file_that_cannot_be_sent_now_keeps_its_turn(void **state)
{
	(void)state;
	queue.fn = fail_on_rows;
	unsendable = true;
	put(1, small_fd);
	row_queue_kick(&queue);
	row_queue_poll(&queue);
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 0);
	assert_int_equal(row_queue_len(&queue), 1);
	assert_true(row_queue_due_ns(&queue, 0) <= NSEC_PER_SEC);
	unsendable = false;
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 1);
	assert_int_equal(sent[0].id, 1);
}

static void a_worker_at_need_is_there_while_it_has_work_and_a_while_longer(void **state)
{
	(void)state;
	queue.at_need = true;
	queue.lane.child.pid = 0;
	row_queue_poll(&queue);
	assert_int_equal(queue.lane.child.pid, 0);
	assert_true(row_queue_due_ns(&queue, 0) == CLOCK_NEVER_NS);
	put(1, large_fd);
	assert_true(row_queue_due_ns(&queue, 0) != CLOCK_NEVER_NS);
	row_queue_poll(&queue);
	assert_int_equal(sent_len, 1);
	queue.lane.asked_ns = 1;
	row_queue_poll(&queue);
	assert_false(rested);
	answer(1);
	assert_false(rested);
	assert_int_equal(row_queue_due_ns(&queue, 0), queue.lane.asked_ns + ROW_IDLE_NS);
	queue.lane.asked_ns -= ROW_IDLE_NS;
	row_queue_poll(&queue);
	assert_true(rested);
	assert_true(row_queue_due_ns(&queue, 0) == CLOCK_NEVER_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_file_that_most_samples_wait_for_is_next, setup, teardown),
		cmocka_unit_test_setup_teardown(
			nothing_is_sent_before_or_after_a_file_that_may_take_long, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_account_that_took_much_comes_after_those_that_took_little, setup,
			teardown),
		cmocka_unit_test_setup_teardown(what_a_file_took_is_told_by_the_kernels_clock,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_page_of_an_account_that_took_little_comes_first_too, setup, teardown),
		cmocka_unit_test_setup_teardown(
			whoever_took_least_pays_for_a_file_that_several_want, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_an_account_took_is_forgotten_after_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(
			requests_outlive_a_worker_that_is_found_lost_by_the_next_one, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			they_do_so_where_the_next_one_is_sent_from_the_callback, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_cannot_be_sent_now_keeps_its_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_worker_at_need_is_there_while_it_has_work_and_a_while_longer, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
